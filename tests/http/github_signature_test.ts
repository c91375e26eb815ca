import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseDelivery, parseSignature, WebhookSecrets } from "../../lib/http/github_signature.ts";

const encoder = new TextEncoder();
// The example of https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
const SECRET = "It's a Secret to Everybody";
const BODY = encoder.encode("Hello, World!");
const HEADER = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

async function isValid(secrets: string[], header: string | null, body = BODY): Promise<boolean> {
  const signature = parseSignature(header);
  return signature !== null && await new WebhookSecrets(secrets).verify(signature, body);
}

Deno.test("WebhookSecrets.verify() accepts GitHub's documented example, by any of its secrets", async () => {
  assertEquals(await isValid([SECRET], HEADER), true);
  assertEquals(
    await isValid([SECRET], HEADER.replace(/[a-f](?=.{3}$)/, (c) => c.toUpperCase())),
    true,
  );
  assertEquals(await isValid(["old", SECRET], HEADER), true);
  assertEquals(await isValid([SECRET, "new"], HEADER), true);
});

Deno.test("WebhookSecrets.verify() refuses every changed bit of body, signature and secret", async () => {
  assertEquals(await isValid(["It's a Secret to everybody"], HEADER), false);
  assertEquals(await isValid([], HEADER), false);
  assertEquals(await isValid([SECRET], HEADER, BODY.slice(0, -1)), false);
  assertEquals(await isValid([SECRET], HEADER, encoder.encode("Hello, World!\n")), false);
  await fc.assert(fc.asyncProperty(fc.nat(BODY.length - 1), fc.nat(7), async (at, bit) => {
    const body = BODY.slice();
    body[at]! ^= 1 << bit;
    assertEquals(await isValid([SECRET], HEADER, body), false);
    const signature = parseSignature(HEADER)!;
    signature[at]! ^= 1 << bit;
    assertEquals(await new WebhookSecrets([SECRET]).verify(signature, BODY), false);
  }));
});

Deno.test("parseSignature() takes one whole SHA-256 and nothing else", () => {
  const hex = HEADER.slice(7);
  assertEquals(parseSignature(HEADER), Uint8Array.fromHex(hex));
  const bad = [
    null,
    "",
    hex,
    "sha256=",
    `sha1=${hex.slice(0, 40)}`,
    `sha256=${hex.slice(1)}`,
    `${HEADER}0`,
    `${HEADER}\n`,
    ` ${HEADER}`,
    `${HEADER}, ${HEADER}`,
    `sha256=${hex.slice(0, 63)}g`,
    `sha512=${hex}`,
  ];
  for (const header of bad) assertEquals(parseSignature(header), null, `${header}`);
});

const payload = (full_name: unknown) =>
  JSON.stringify({ ref: "refs/heads/x", repository: { full_name } });

function deliver(
  body: string | Uint8Array,
  options: { event?: string | null; contentType?: string | null } = {},
) {
  const { event = "push", contentType = "application/json" } = options;
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const delivery = parseDelivery({ event, contentType, body: bytes });
  return delivery.kind === "malformed" ? delivery.error.parameter : delivery;
}

const changed = { kind: "changed" as const, owner: "Octo-Org", repo: "site.io" };

Deno.test("parseDelivery() gives the repository of the events that change one, from JSON and from a form", () => {
  const json = payload("Octo-Org/site.io");
  for (const event of ["push", "create", "delete", "repository", "public"]) {
    assertEquals(deliver(json, { event }), changed);
  }
  assertEquals(deliver(json, { contentType: "Application/JSON; charset=utf-8" }), changed);
  const form = new URLSearchParams({ payload: json }).toString();
  assertEquals(deliver(form, { contentType: "application/x-www-form-urlencoded" }), changed);
});

Deno.test("parseDelivery() ignores every other event, whatever it carries", () => {
  for (const event of ["ping", "star", "toString", "PUSH", "push "]) {
    assertEquals(deliver("{", { event }), { kind: "ignored" });
  }
});

Deno.test("parseDelivery() names what is malformed", () => {
  const json = payload("octo/site");
  for (const event of [null, ""]) assertEquals(deliver(json, { event }), "X-GitHub-Event");
  for (const contentType of [null, "", "text/plain", "multipart/form-data"]) {
    assertEquals(deliver(json, { contentType }), "Content-Type");
  }
  const form = "application/x-www-form-urlencoded";
  assertEquals(deliver(`other=${json}`, { contentType: form }), "Content-Type");
  assertEquals(deliver("payload=%7B", { contentType: form }), "payload");
  const names = [
    "site",
    "octo/",
    "/site",
    "octo/site/more",
    "octo/..",
    "octo/.",
    "oc to/site",
    "octo/si\nte",
    "octo/site\n",
    "octo/%2e",
    `octo/${"a".repeat(101)}`,
    `${"a".repeat(101)}/site`,
    7,
    null,
    ["octo/site"],
    { toString: "octo/site" },
  ];
  for (const name of names) assertEquals(deliver(payload(name)), "payload", JSON.stringify(name));
  for (const body of ["", "{", "null", "[]", "7", '"octo/site"', "{}", '{"repository":null}']) {
    assertEquals(deliver(body), "payload", body);
  }
  const latin1 = Uint8Array.from(json.replace("refs", "r\xe9fs"), (c) => c.charCodeAt(0));
  assertEquals(deliver(latin1), "payload");
  assertEquals(deliver("[".repeat(1_000_000)), "payload");
});
