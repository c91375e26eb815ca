import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CollectionsError } from "../../lib/errors.ts";
import { parseDelivery, Webhook } from "../../lib/http/webhook.ts";
import { backgroundContext } from "../../lib/source/source.ts";
import { TestClock } from "../test_clock.ts";

const encoder = new TextEncoder();
// The example of https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
const SECRET = "It's a Secret to Everybody";
const BODY = encoder.encode("Hello, World!");
const HEX = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
const HEADER = `sha256=${HEX}`;

/** Whether a webhook with these secrets takes the body, as a ping. */
async function isTaken(secrets: string[], header: string | null, body = BODY): Promise<boolean> {
  const webhook = new Webhook({ secrets, clock: new TestClock(), onChange() {} });
  const headers = {
    "x-github-event": "ping",
    ...(header === null ? {} : { "x-hub-signature-256": header }),
  };
  const request = new Request("http://a", { method: "POST", headers, body });
  try {
    return (await webhook.receive(request, backgroundContext("a"))).status === 204;
  } catch (error) {
    if (error instanceof CollectionsError && error.code === "signature-invalid") return false;
    throw error;
  }
}

function flipped(bytes: Uint8Array<ArrayBuffer>, at: number, bit: number) {
  return bytes.map((byte, index) => index === at % bytes.length ? byte ^ (1 << bit) : byte);
}

Deno.test("Webhook takes GitHub's documented example, by any of its secrets", async () => {
  for (const secrets of [[SECRET], ["old", SECRET], [SECRET, "new"]]) {
    assertEquals(await isTaken(secrets, HEADER), true);
  }
  assertEquals(await isTaken([SECRET], `sha256=${HEX.toUpperCase()}`), true);
});

Deno.test("Webhook refuses every changed bit, another secret and what is no whole SHA-256", async () => {
  assertEquals(await isTaken(["It's a Secret to everybody"], HEADER), false);
  assertEquals(await isTaken([SECRET], HEADER, BODY.slice(0, -1)), false);
  assertEquals(await isTaken([SECRET], HEADER, encoder.encode("Hello, World!\n")), false);
  await fc.assert(fc.asyncProperty(fc.nat(31), fc.nat(7), async (at, bit) => {
    assertEquals(await isTaken([SECRET], HEADER, flipped(BODY, at, bit)), false);
    const hex = flipped(Uint8Array.fromHex(HEX), at, bit).toHex();
    assertEquals(await isTaken([SECRET], `sha256=${hex}`), false);
  }));
  const bad = [
    ...[null, "", HEX, "sha256=", `sha1=${HEX.slice(0, 40)}`, `sha256=${HEX.slice(1)}`],
    ...[`${HEADER}0`, `${HEADER}, ${HEADER}`, `${HEADER.slice(0, -1)}g`, `sha512=${HEX}`],
  ];
  for (const header of bad) {
    assertEquals([header, await isTaken([SECRET], header)], [header, false]);
  }
});

const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

function payload(full_name: unknown): string {
  return JSON.stringify({ ref: "refs/heads/x", repository: { full_name } });
}

function parse(
  body: string | Uint8Array,
  { event = "push", type = JSON_TYPE }: { event?: string | null; type?: string | null } = {},
) {
  const headers = new Headers();
  if (event !== null) headers.set("x-github-event", event);
  if (type !== null) headers.set("content-type", type);
  return parseDelivery(headers, typeof body === "string" ? encoder.encode(body) : body);
}

Deno.test("parseDelivery() gives the repository of the events that change one, from JSON and from a form", () => {
  const json = payload("Octo-Org/site.io");
  const name = { owner: "Octo-Org", repo: "site.io" };
  for (const event of ["push", "create", "delete", "repository", "public"]) {
    assertEquals(parse(json, { event }), name);
  }
  assertEquals(parse(json, { type: "Application/JSON; charset=utf-8" }), name);
  assertEquals(parse(new URLSearchParams({ payload: json }).toString(), { type: FORM }), name);
  for (const event of ["ping", "star", "toString", "PUSH"]) {
    assertEquals(parse("{", { event }), null);
  }
});

Deno.test("parseDelivery() names what is malformed", () => {
  const json = payload("octo/site");
  const names = [
    ...["site", "octo/", "/site", "octo/site/more", "octo/..", "octo/.", "oc to/site"],
    ...["octo/si\nte", "octo/site\n", "octo/%2e", `octo/${"a".repeat(101)}`],
    ...[`${"a".repeat(101)}/site`, 7, null, ["octo/site"], { toString: "octo/site" }],
  ];
  const latin1 = Uint8Array.from(json.replace("refs", "r\xe9fs"), (c) => c.charCodeAt(0));
  const texts = ["", "{", "null", "[]", "7", '"octo/site"', "{}", '{"repository":null}'];
  type Row = [parameter: string, body: string | Uint8Array, Parameters<typeof parse>[1]?];
  const bad: Row[] = [
    ...[null, ""].map((event): Row => ["X-GitHub-Event", json, { event }]),
    ...[null, "", "text/plain", "multipart/form-data"]
      .map((type): Row => ["Content-Type", json, { type }]),
    ["Content-Type", `other=${json}`, { type: FORM }],
    ["payload", "payload=%7B", { type: FORM }],
    ...[...names.map(payload), ...texts, "[".repeat(1e6), latin1]
      .map((body): Row => ["payload", body]),
  ];
  for (const [parameter, body, options] of bad) {
    const error = assertThrows(() => parse(body, options), CollectionsError);
    assertEquals(error.facts.errors?.map((error) => error.parameter), [parameter]);
  }
});
