// Reads the payload of a webhook delivery. It may have 25 MB, most of which is
// what authors write: messages of commits and names of files.

const FULL_NAME = /^[A-Za-z0-9_-]{1,100}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/;
const BRANCH = /^refs\/heads\/(\S{1,255})$/;

interface Name {
  owner: string;
  repo: string;
}

/**
 * The repository of a delivery and the pushed branch, if there is one. `former`
 * is the repository's name before a rename or a transfer.
 */
export type Delivery = Name & { branch: string | null; former?: Name };

export interface DeliveryInput {
  body: Uint8Array<ArrayBuffer>;
  /** Whether the payload is a field of a form. */
  isForm: boolean;
}

/** Returns the name of what is malformed in place of a delivery. */
export function readDelivery(
  { body, isForm }: DeliveryInput,
): Delivery | "Content-Type" | "payload" {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    const json = isForm ? new URLSearchParams(text).get("payload") : text;
    if (json === null) return "Content-Type";
    const payload = JSON.parse(json);
    const { full_name } = payload.repository;
    if (typeof full_name !== "string" || !FULL_NAME.test(full_name)) {
      return "payload";
    }
    const [owner = "", repo = ""] = full_name.split("/");
    const { owner: moved, repository: renamed } = payload.changes ?? {};
    const from = moved?.from?.user ?? moved?.from?.organization;
    const former = {
      owner: from?.login ?? owner,
      repo: renamed?.name?.from ?? repo,
    };
    const formerName = `${former.owner}/${former.repo}`;
    const isMoved = formerName !== full_name && FULL_NAME.test(formerName);
    const branch = BRANCH.exec(payload.ref ?? "")?.[1] ?? null;
    return { owner, repo, branch, ...isMoved && { former } };
  } catch {
    return "payload";
  }
}
