// A GitHub App at the double: its installations, one for each account, and
// their tokens, which end. https://docs.github.com/rest/apps

import { Buffer } from "node:buffer";
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { errorReply, jsonReply, UnexpectedRequest } from "./github_api.ts";
import { ownerBody } from "./repository_body.ts";

const ID = 4711;
/** Accounts of the double below this are tokens. */
const FIRST_INSTALLATION = 7_000;
/** The longest life of a JSON Web Token. */
const MAX_JWT_SECONDS = 600;

let made:
  | { readonly publicKey: string; readonly privateKey: string }
  | undefined;

/** Made once for a process: it takes a while. GitHub gives PKCS#1 too. */
function keys() {
  return made ??= generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
}

/** The App's settings, installations and tokens. */
export class GithubApp {
  readonly id = `${ID}`;
  readonly privateKey = keys().privateKey;
  /** How long a token lives. */
  tokenLifeMs = 3_600_000;
  /** The owner of each token that was given, in lower case. */
  readonly given: string[] = [];
  private readonly installations = new Map<string, number>();
  private readonly tokens = new Map<
    string,
    { installation: number; endsAtMs: number }
  >();

  constructor(private readonly now: () => number) {}

  /** Installs the App on an account. */
  install(owner: string): void {
    this.installations.set(
      owner.toLowerCase(),
      FIRST_INSTALLATION + this.installations.size,
    );
  }

  /** Removes the App from an account; its tokens end. */
  uninstall(owner: string): void {
    const id = this.installations.get(owner.toLowerCase());
    this.installations.delete(owner.toLowerCase());
    for (const [token, { installation }] of this.tokens) {
      if (installation === id) this.tokens.delete(token);
    }
  }

  /** Ends every token. */
  endTokens(): void {
    this.tokens.clear();
  }

  /** The installation of a token that has not ended. */
  installationOf(token: string): number | undefined {
    const found = this.tokens.get(token);
    return found !== undefined && this.now() < found.endsAtMs
      ? found.installation
      : undefined;
  }

  /** Whether an account is the installation of this owner. */
  isOf(account: number, owner: string): boolean {
    return account < FIRST_INSTALLATION ||
      this.installations.get(owner.toLowerCase()) === account;
  }

  /** Answers a request in the name of the App. */
  answer(request: Request, apiUrl: string): Response {
    const accept = request.headers.get("accept");
    if (accept !== "application/vnd.github+json") {
      throw new UnexpectedRequest(`media type ${accept}`);
    }
    const fault = this.faultOf(request.headers.get("authorization"));
    if (fault !== null) return errorReply(401, fault);
    const { pathname } = new URL(request.url);
    const [, owner] = INSTALLATION_PATH.exec(pathname) ?? [];
    if (owner !== undefined) {
      const id = this.installations.get(owner.toLowerCase());
      return id === undefined
        ? errorReply(404, "Not Found")
        : jsonReply(body(id, owner, apiUrl));
    }
    const id = Number(TOKEN_PATH.exec(pathname)![1]);
    const [account] =
      [...this.installations].find(([, installation]) => installation === id) ??
        [];
    if (account === undefined) return errorReply(404, "Not Found");
    const token = `ghs_${crypto.randomUUID().replaceAll("-", "")}`;
    const endsAtMs = this.now() + this.tokenLifeMs;
    this.tokens.set(token, { installation: id, endsAtMs });
    this.given.push(account);
    const expires_at = new Date(endsAtMs).toISOString().replace(/\.\d+Z$/, "Z");
    const permissions = { contents: "read", metadata: "read" };
    return jsonReply({
      token,
      expires_at,
      permissions,
      repository_selection: "all",
    }, {
      status: 201,
    });
  }

  /** What is wrong with a JSON Web Token, or null. */
  private faultOf(authorization: string | null): string | null {
    const [, signed, header, payload, signature] =
      /^Bearer (([\w-]+)\.([\w-]+))\.([\w-]+)$/.exec(authorization ?? "") ?? [];
    if (signed === undefined) return "A JSON web token could not be decoded";
    const read = (part: string) =>
      JSON.parse(Buffer.from(part, "base64url").toString());
    const key = createPublicKey(keys().publicKey);
    const isSigned = read(header!).alg === "RS256" &&
      verify(
        "sha256",
        Buffer.from(signed),
        key,
        Buffer.from(signature!, "base64url"),
      );
    if (!isSigned) return "A JSON web token could not be decoded";
    const { iss, iat, exp } = read(payload!);
    const now = this.now() / 1000;
    if (`${iss}` !== this.id) return "Integration not found";
    if (iat > now) {
      return "'Issued at' claim ('iat') must be an Integer representing the time";
    }
    return exp > now && exp <= now + MAX_JWT_SECONDS
      ? null
      : "'Expiration time' claim ('exp') is too far in the future";
  }
}

const INSTALLATION_PATH = /^\/users\/([A-Za-z0-9_-]+)\/installation$/;
const TOKEN_PATH = /^\/app\/installations\/(\d+)\/access_tokens$/;

/** Whether a request is one in the name of an App, and which. */
export function appRequestKind(
  { method, url }: Request,
): "installation" | "app-token" | null {
  const { pathname } = new URL(url);
  if (method === "GET" && INSTALLATION_PATH.test(pathname)) {
    return "installation";
  }
  return method === "POST" && TOKEN_PATH.test(pathname) ? "app-token" : null;
}

function body(id: number, owner: string, apiUrl: string) {
  const at = "2026-01-01T00:00:00Z";
  return {
    id,
    account: ownerBody(owner, apiUrl),
    app_id: ID,
    app_slug: "collections",
    target_id: 1,
    target_type: "Organization",
    single_file_name: null,
    repository_selection: "all",
    access_tokens_url: `${apiUrl}/app/installations/${id}/access_tokens`,
    html_url:
      `https://github.test/organizations/${owner}/settings/installations/${id}`,
    repositories_url: `${apiUrl}/installation/repositories`,
    events: [],
    permissions: { contents: "read", metadata: "read" },
    created_at: at,
    updated_at: at,
    suspended_by: null,
    suspended_at: null,
  };
}
