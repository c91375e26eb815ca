// Authenticates a webhook delivery of GitHub and reads the only fact that the service uses: which repository changed.
// The caller verifies the signature before it lets a body be parsed.

import { z } from "zod";
import type { ParameterError } from "../errors.ts";

/** The HMAC-SHA-256 that an `X-Hub-Signature-256` header carries, or null where the header is absent or malformed. */
export function parseSignature(header: string | null): Uint8Array<ArrayBuffer> | null {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(header ?? "") ?? [];
  return hex === undefined ? null : Uint8Array.fromHex(hex);
}

/** Checks signatures against the secrets of GITHUB_WEBHOOK_SECRET; any one of them is enough. */
export class WebhookSecrets {
  private readonly keys: Promise<CryptoKey[]>;

  /** @param secrets One or more, none of them empty. */
  constructor(secrets: readonly string[]) {
    const encoder = new TextEncoder();
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    this.keys = Promise.all(
      secrets.map((secret) =>
        crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["verify"])
      ),
    );
  }

  /** Whether one of the secrets signed the raw body; the comparison takes constant time. */
  async verify(
    signature: Uint8Array<ArrayBuffer>,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<boolean> {
    for (const key of await this.keys) {
      if (await crypto.subtle.verify("HMAC", key, signature, body)) return true;
    }
    return false;
  }
}

/** What an authenticated delivery means: a repository to check, nothing, or a 400. */
export type Delivery =
  | { readonly kind: "changed"; readonly owner: string; readonly repo: string }
  | { readonly kind: "ignored" }
  | { readonly kind: "malformed"; readonly error: ParameterError };

const EVENTS: ReadonlySet<string> = new Set(["push", "create", "delete", "repository", "public"]);

const payloadSchema = z.object({
  repository: z.object({
    full_name: z.string().regex(/^[A-Za-z0-9_-]{1,100}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/),
  }),
});

/**
 * Reads a delivery whose signature is valid; JSON, or JSON in the form field `payload`. The payload of an event that
 * changes nothing here (`ping` among them) is not read.
 */
export function parseDelivery(
  delivery: {
    /** `X-GitHub-Event`. */
    readonly event: string | null;
    readonly contentType: string | null;
    readonly body: Uint8Array;
  },
): Delivery {
  const { event, contentType, body } = delivery;
  if (!event) return malformed("X-GitHub-Event", "is required");
  if (!EVENTS.has(event)) return { kind: "ignored" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    const type = /^[^;\s]*/.exec(contentType ?? "")?.[0].toLowerCase();
    const json = type === "application/x-www-form-urlencoded"
      ? new URLSearchParams(text).get("payload")
      : type === "application/json"
      ? text
      : null;
    if (json === null) {
      return malformed(
        "Content-Type",
        "must be application/json, or a form with the field payload",
      );
    }
    const [owner = "", repo = ""] = payloadSchema.parse(JSON.parse(json)).repository.full_name
      .split("/");
    return { kind: "changed", owner, repo };
  } catch {
    return malformed("payload", "must be the JSON of a GitHub event, with repository.full_name");
  }
}

function malformed(parameter: string, message: string): Delivery {
  return { kind: "malformed", error: { parameter, message } };
}
