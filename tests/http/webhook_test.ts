// Deliveries of GitHub's webhook, genuine and not, to one process and to
// several that share a store.

import {
  assert,
  assertEquals,
  assertLessOrEqual,
  assertRejects,
} from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { Webhook } from "../../lib/http/webhook.ts";
import type { CachedSource } from "../../lib/source/cached_source.ts";
import {
  backgroundContext,
  type RepositoryName,
} from "../../lib/source/source.ts";
import { signatureOf } from "../github/served_repository.ts";
import { TestClock, turns } from "../test_clock.ts";
import { startSite } from "../site.ts";
import { type Compute, SMALL_BYTES } from "../../lib/thread/compute.ts";
import { inlineCompute } from "../thread/inline_compute.ts";
import { testOnEachStore } from "../kv_connect/shared_stores.ts";
import { listPath, startService, type TestService } from "../service.ts";
import {
  deliver,
  ENV,
  PATH,
  push,
  pushWithHook,
  signed,
} from "./deliveries.ts";
import { freshnessOf } from "./freshness_of.ts";

const FILES = { "posts/a.md": "" };
const encoder = new TextEncoder();

/**
 * Waits for the checks that a delivery caused; they are started before it is
 * answered.
 */
async function settled({ services }: TestService): Promise<void> {
  await turns();
  await (services.sourceOf("octo") as CachedSource).refs.settled();
}

Deno.test("a genuine delivery checks a repository in use", async () => {
  await using site = await startSite(FILES, {
    env: { ...ENV, MISSES_PER_MINUTE: "2" },
  });
  const { gh, service } = site;
  await service.list();
  const remote = "203.0.113.9";
  const first = push();
  const signature = { "x-hub-signature-256": signed(first) };
  const forged = "401 signature-invalid";
  type Row = {
    status: string;
    checks: number;
    body: string;
    headers?: Record<string, string>;
  };
  const rows: Row[] = [
    { status: "202", checks: 1, body: first },
    { status: "202", checks: 0, body: push("octo/other") },
    {
      status: "204",
      checks: 0,
      body: push(),
      headers: { "x-github-event": "ping" },
    },
    { status: "400 invalid-parameters", checks: 0, body: "no json" },
    { status: forged, checks: 0, body: push(), headers: signature },
    { status: forged, checks: 0, body: "", headers: signature },
    { status: "202", checks: 1, body: push() },
  ];
  for (const { status, checks, body, headers } of rows) {
    service.clock.advance(1_000);
    gh.resetCounts();
    const answer = await deliver(service, body, headers, { remote });
    await settled(service);
    assertEquals([body, answer, gh.requests.length], [body, status, checks]);
  }
  const unknown = listPath({ repo: "absent" });
  assertEquals((await service.get(unknown, { remote })).status, 429);
  assertEquals(
    (await service.get(unknown)).status,
    404,
    "others are not charged",
  );
  service.clock.advance(60_000);
  gh.resetCounts();
  assertEquals(await deliver(service, push()), "202");
  await settled(service);
  assertEquals(gh.requests.length, 0, "unused for 60 s");
});

Deno.test("the same X-GitHub-Delivery causes one check", async () => {
  await using site = await startSite(FILES, { env: ENV });
  const { gh, service } = site;
  await service.list();
  const body = push();
  const id = crypto.randomUUID();
  const rows: [id: string | null, checks: number][] = [
    [id, 1],
    [id, 0],
    [crypto.randomUUID(), 1],
    [id, 0],
    [null, 1],
    [null, 1],
    ["x".repeat(64), 1],
    ["x".repeat(65), 0],
  ];
  // A delivery that is not valid is not remembered.
  const forged = { "x-github-delivery": id, "x-hub-signature-256": signed("") };
  assertEquals(await deliver(service, body, forged), "401 signature-invalid");
  for (const [id, checks] of rows) {
    // A repository is checked once a second for deliveries.
    service.clock.advance(1_000);
    gh.resetCounts();
    const headers: Record<string, string> = id === null
      ? {}
      : { "x-github-delivery": id };
    assertEquals(await deliver(service, body, headers), "202");
    await settled(service);
    assertEquals([id?.length, gh.requests.length], [id?.length, checks]);
  }
});

Deno.test("a rename with a transfer checks the former name too", async () => {
  await using site = await startSite(FILES, { env: ENV });
  const { gh, service } = site;
  await service.list();
  const body = JSON.stringify({
    repository: { full_name: "Octo-Org/new" },
    changes: {
      repository: { name: { from: "site" } },
      owner: { from: { user: { login: "octo" } } },
    },
  });
  gh.rename("octo/site", "Octo-Org/new");
  gh.add("octo/site", null);
  const event = { "x-github-event": "repository" };
  assertEquals(await deliver(service, body, event), "202");
  await settled(service);
  assertEquals(await freshnessOf(site), [409, "repository-empty"]);
});

Deno.test("a check that was sent before a delivery does not count", async () => {
  for (const isKnown of [true, false]) {
    await using site = await startSite(FILES, { env: ENV });
    const { gh, repository, service } = site;
    if (isKnown) await service.list();
    service.clock.advance(60_000);
    gh.resetCounts();
    const answered = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    gh.intercept = async (_, { kind }, real) => {
      if (kind !== "commit") return null;
      gh.intercept = null;
      const answer = await real();
      answered.resolve();
      await held.promise;
      return answer;
    };
    const waiting = freshnessOf(site);
    await answered.promise;
    await repository.commit({ "posts/b.md": "" });
    for (let n = 0; n < 20; n++) {
      assertEquals(await deliver(service, push()), "202");
    }
    held.resolve();
    await waiting;
    await settled(service);
    await settled(service);
    assertEquals((await freshnessOf(site))[0], "a b");
    assertEquals([isKnown, gh.counts().commit], [isKnown, 2]);
  }
});

Deno.test("a branch that was missing shows after its delivery", async () => {
  await using site = await startSite(FILES, { env: ENV });
  const newBranch = listPath({ branch: "new" });
  const missing = [404, "branch-not-found"];
  assertEquals(await freshnessOf(site, newBranch), missing);
  await site.repository.branch("new");
  assertEquals(await freshnessOf(site, newBranch), missing, "no delivery");
  assertEquals(await deliver(site.service, push("OCTO/Site")), "202");
  await settled(site.service);
  assertEquals((await freshnessOf(site, newBranch))[0], "a");
});

Deno.test("a body over 25 MiB is 413, announced or not", async () => {
  await using service = await startService({ env: ENV });
  const maxBytes = 25 << 20;
  const bodyOf = (length: number) => {
    const body = new Uint8Array(length).fill(32);
    encoder.encodeInto(push(), body);
    return body;
  };
  const statusOf = async (
    body: Uint8Array<ArrayBuffer>,
    announced: number | null = null,
  ) => {
    const headers = new Headers({
      "content-type": "application/json",
      "x-github-event": "push",
      "x-hub-signature-256": signed(body),
    });
    if (announced !== null) headers.set("content-length", `${announced}`);
    const response = await service.send(PATH, {
      method: "POST",
      headers,
      body,
    });
    return response.status;
  };
  assertEquals(await statusOf(bodyOf(maxBytes)), 202);
  assertEquals(await statusOf(bodyOf(maxBytes + 1)), 413);
  assertEquals(await statusOf(bodyOf(1_000), maxBytes + 1), 413);
});

Deno.test("deliveries check a repository at most once a second", async () => {
  await using site = await startSite(FILES, { env: ENV });
  const { gh, service } = site;
  await service.list();
  gh.resetCounts();
  const checks = async () => {
    await settled(service);
    return gh.requests.length;
  };
  const replayed = push();
  for (let n = 0; n < 10; n++) {
    assertEquals(await deliver(service, replayed), "202");
  }
  assertEquals(await checks(), 1);
  service.clock.advance(999);
  assertEquals(await checks(), 1);
  service.clock.advance(1);
  assertEquals(await checks(), 2);
  service.clock.advance(2_000);
  assertEquals(await checks(), 2);
  assertEquals(await deliver(service, replayed), "202");
  assertEquals(await checks(), 3);
});

/**
 * A signed delivery of `size` bytes, of which `given` come at once and more
 * when `send` is called.
 */
function slowDelivery(size: number, given: number) {
  const bytes = new Uint8Array(size).fill(32);
  encoder.encodeInto(push(), bytes);
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const writer = writable.getWriter();
  let sent = 0;
  const send = (count: number) => {
    // A body that is not read further is canceled.
    writer.write(bytes.slice(sent, sent += count)).catch(() => {});
    if (sent === size) writer.close().catch(() => {});
  };
  send(given);
  const type = { "content-type": "application/json", "x-github-event": "push" };
  const headers = { ...type, "x-hub-signature-256": signed(bytes) };
  return { send, init: { method: "POST", headers, body: readable } };
}

Deno.test("a body must arrive at 1 MB a second", async () => {
  const rows: [pieceMs: number, status: number][] = [
    [100, 202],
    [60_000, 401],
    [110, 401],
  ];
  for (const [pieceMs, status] of rows) {
    await using service = await startService({ env: ENV });
    const { send, init } = slowDelivery(3_000_000, 100_000);
    const answer = service.send(PATH, init);
    // In 29 pieces; 2 s are given in advance.
    for (let n = 0; n < 29; n++) {
      await turns(20);
      service.clock.advance(pieceMs);
      await turns(20);
      if (n === 0 && pieceMs === 110) service.clock.advance(1_800);
      send(100_000);
    }
    assertEquals([pieceMs, (await answer).status], [pieceMs, status]);
  }
});

Deno.test("a body may pause for 2 s, however fast it was before", async () => {
  for (const [pauseMs, status] of [[1_900, 202], [2_100, 401]] as const) {
    await using service = await startService({ env: ENV });
    const { send, init } = slowDelivery(2_000_000, 100_000);
    const answer = service.send(PATH, init);
    await turns(20);
    // Its time starts anew once it has memory.
    send(1_800_000);
    await turns(50);
    service.clock.advance(pauseMs);
    await turns(20);
    send(100_000);
    assertEquals([pauseMs, (await answer).status], [pauseMs, status]);
  }
});

Deno.test("stalled bodies of a client leave memory to others", async () => {
  await using service = await startService({ env: ENV });
  const size = 2 << 20;
  const stalled = Array.from({ length: 12 }, () => {
    const { init } = slowDelivery(size, size - 1);
    return service.send(PATH, { ...init, remote: "203.0.113.9" });
  });
  await turns(20);
  const { init } = slowDelivery(size, size);
  assertEquals(
    (await service.send(PATH, { ...init, remote: "192.0.2.1" })).status,
    202,
  );
  // Those that waited for memory have as much time again when they get it.
  for (let n = 0; n < 4; n++) {
    service.clock.advance(5_000);
    await turns(20);
  }
  const statuses = (await Promise.all(stalled)).map(({ status }) => status);
  assertEquals(new Set(statuses), new Set([401, 503]));
});

Deno.test("signed deliveries are taken whatever else a client does", async () => {
  await using site = await startSite(FILES, {
    env: { ...ENV, MISSES_PER_MINUTE: "1" },
  });
  const { service } = site;
  const remote = "203.0.113.9";
  await service.get(listPath({ repo: "none" }), { remote });
  const never = { completed: new Promise<void>(() => {}) };
  for (let n = 0; n < 1_000; n++) service.services.underWay.add(remote, never);
  assertEquals((await service.get(listPath(), { remote })).status, 429);
  assertEquals(await deliver(service, push(), {}, { remote }), "202");
});

Deno.test("the webhook exists only if a secret is set", async () => {
  await using without = await startService({ env: { LOG_LEVEL: "silent" } });
  await using service = await startService({ env: ENV });
  for (const path of [PATH, `${PATH}/`, "/api//webhooks///github//"]) {
    for (const method of ["GET", "PUT", "POST", "OPTIONS"]) {
      const isPreflight = method === "OPTIONS";
      const { status } = await without.get(path, { method });
      assertEquals([method, status], [method, isPreflight ? 204 : 404]);
      if (method === "POST") continue;
      const answer = await service.get(path, { method });
      assertEquals([method, answer.status], [method, isPreflight ? 204 : 405]);
      assertEquals(answer.headers.get("allow"), "POST, OPTIONS");
    }
  }
});

testOnEachStore(
  "a push shows in 2 s in every process that shares the store",
  async (store) => {
    const delaysMs = await pushWithHook(store, 10);
    assertEquals(delaysMs.length, 20);
    assertLessOrEqual(Math.max(...delaysMs), 2_000);
  },
);

// The example of
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
const SECRET = "It's a Secret to Everybody";
const BODY = encoder.encode("Hello, World!");
const HEX = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
const HEADER = `sha256=${HEX}`;
const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

/** The names that a delivery reports; null if it changes nothing. */
async function receive(
  body: string | Uint8Array<ArrayBuffer>,
  {
    event = "push",
    type = JSON_TYPE,
    secrets = [SECRET],
    signature = signatureOf(body, SECRET) as string | null,
    compute = inlineCompute as Compute,
  } = {},
) {
  const names: (RepositoryName & { branch: string | null })[] = [];
  const onChange = (name: typeof names[0]) => void names.push(name);
  const clock = new TestClock();
  const webhook = new Webhook({ secrets, clock, compute, onChange });
  const headers = new Headers({ "x-github-event": event });
  headers.set("content-type", type);
  if (signature !== null) headers.set("x-hub-signature-256", signature);
  const request = new Request("http://a", { method: "POST", headers, body });
  const { status } = await webhook.receive(request, backgroundContext("a"));
  assertEquals(status, names.length > 0 ? 202 : 204);
  return names.length > 0 ? names : null;
}

/** Whether a webhook with these secrets takes a body, as a ping. */
const isTaken = (secrets: string[], signature: string | null) =>
  receive(BODY, { event: "ping", secrets, signature }).then(
    () => true,
    ({ code }) => code !== "signature-invalid",
  );

Deno.test("Webhook takes GitHub's example by any of its secrets", async () => {
  assertEquals(await isTaken([SECRET, "new"], HEADER), true);
  assertEquals(await isTaken(["It's a Secret to everybody"], HEADER), false);
  const bad = [
    null,
    HEX,
    `sha256=${HEX.slice(1)}`,
    `${HEADER.slice(0, -1)}8`,
    `${HEADER}0`,
    `${HEADER.slice(0, -1)}g`,
  ];
  for (const header of bad) {
    assertEquals([header, await isTaken([SECRET], header)], [header, false]);
  }
});

function payload(full_name: unknown): string {
  return JSON.stringify({ ref: "refs/heads/x", repository: { full_name } });
}

Deno.test("Webhook reads JSON and forms", async () => {
  const json = payload("Octo-Org/site.io");
  const name = { owner: "Octo-Org", repo: "site.io", branch: "x" };
  const type = "Application/JSON; charset=utf-8";
  assertEquals(await receive(json, { type }), [name]);
  const form = `${new URLSearchParams({ payload: json })}`;
  assertEquals(await receive(form, { type: FORM }), [name]);
  assertEquals(await receive("{", { event: "toString" }), null);
});

Deno.test("Webhook takes GitHub's own examples of every event", async () => {
  const file =
    "../../node_modules/@octokit/webhooks-examples/api.github.com/index.json";
  const examples = JSON.parse(
    await Deno.readTextFile(new URL(file, import.meta.url)),
  );
  const changed = new Set(["push", "create", "delete", "repository", "public"]);
  const former = new Map<string, number>();
  let count = 0;
  for (const { name: event, examples: payloads } of examples) {
    for (const payload of payloads) {
      const { action, repository } = payload;
      const names = await receive(JSON.stringify(payload), { event });
      count++;
      if (!changed.has(event)) {
        assertEquals([event, names], [event, null]);
        continue;
      }
      const [name, before] = names!;
      const { owner, repo } = name!;
      assertEquals(`${owner}/${repo}`, repository.full_name);
      if (before === undefined) continue;
      former.set(`${action}`, (former.get(`${action}`) ?? 0) + 1);
      assert(before.owner !== owner || before.repo !== repo);
    }
  }
  assert(count > 300, `${count} examples`);
  // The example of a rename has the same name twice.
  assertEquals([...former.keys()], ["transferred"]);
});

Deno.test("Webhook gives the former name after a rename", async () => {
  const rename = (from: unknown) => ({ repository: { name: { from } } });
  const transfer = (kind: string, login: unknown) => ({
    owner: { from: { [kind]: { login } } },
  });
  const rows: [changes: unknown, former: string | undefined][] = [
    [rename("old.site"), "octo/old.site"],
    [transfer("user", "before"), "before/site"],
    [transfer("organization", "Before-Org"), "Before-Org/site"],
    [{ description: { from: "x" } }, undefined],
    [rename("site"), undefined],
    [rename(".."), undefined],
    [rename(["x y"]), undefined],
    [{ owner: { from: null }, repository: { name: null } }, undefined],
  ];
  for (const [changes, former] of rows) {
    const json = JSON.stringify({
      repository: { full_name: "octo/site" },
      changes,
    });
    const [, found] = (await receive(json, { event: "repository" }))!;
    assertEquals([changes, found && `${found.owner}/${found.repo}`], [
      changes,
      former,
    ]);
  }
});

Deno.test("Webhook parses long payloads on the content thread", async () => {
  const commits = Array.from(
    { length: 2_000 },
    (_, n) => ({ message: `${n}` }),
  );
  const text = JSON.stringify({ ...JSON.parse(payload("octo/site")), commits });
  const tasks: string[] = [];
  const compute: Compute = {
    run(task, input, options) {
      const isSmall = (options.linearIn ?? Infinity) <= SMALL_BYTES;
      if (!isSmall) tasks.push(task.name);
      return inlineCompute.run(task, input, options);
    },
  };
  const [name] = (await receive(text, { compute }))!;
  assertEquals([name?.repo, tasks], ["site", ["delivery"]]);
});

Deno.test("Webhook names what is malformed", async () => {
  const json = payload("octo/site");
  const names = ["site", "octo/..", "oc to/site", "octo/site\n", 7];
  const latin1 = Uint8Array.from(
    json.replace("refs", "r\xe9fs"),
    (c) => c.charCodeAt(0),
  );
  const texts = ["", "null", '{"repository":null}', "[".repeat(1e6), latin1];
  type Row = [
    parameter: string,
    body: string | Uint8Array<ArrayBuffer>,
    Parameters<typeof receive>[1]?,
  ];
  const bad: Row[] = [
    ["X-GitHub-Event", json, { event: "" }],
    ["Content-Type", json, { type: "" }],
    ["Content-Type", json, { type: "text/plain" }],
    ["Content-Type", `other=${json}`, { type: FORM }],
    ["payload", "payload=%7B", { type: FORM }],
  ];
  for (const body of [...names.map(payload), ...texts]) {
    bad.push(["payload", body]);
  }
  for (const [parameter, body, options] of bad) {
    const error = await assertRejects(
      () => receive(body, options),
      CollectionsError,
    );
    assertEquals(error.facts.errors?.map((error) => error.parameter), [
      parameter,
    ]);
  }
});

Deno.test("a push checks its branch first, then recent ones", async () => {
  await using site = await startSite(FILES, { env: ENV });
  const { gh, service, repository } = site;
  const names = Array.from({ length: 10 }, (_, n) => `b${n}`);
  for (const name of names) await repository.branch(name);
  for (const branch of names) {
    await service.list({ branch });
    service.clock.advance(1);
  }
  gh.resetCounts();
  const body = JSON.stringify({
    ...JSON.parse(push()),
    ref: "refs/heads/b3",
  });
  assertEquals(await deliver(service, body), "202");
  await settled(service);
  const checked = gh.requests.map(({ path }) => path.split("%2F").at(-1));
  assertEquals(checked.slice(0, 3), ["b3", "b9", "b8"]);
});
