// What answers hold in memory while they are made and sent: bounded for all together, given back in every case.

import { assert, assertEquals } from "@std/assert";
import { Room } from "../../lib/http/room.ts";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { bareRequest } from "./bare_request.ts";

const MIB = 1 << 20;
/** Control characters become six bytes each in JSON. */
const SWELLING = "\u0001".repeat(2 * MIB);
const FILES = {
  "posts/a.md": SWELLING,
  "posts/b.md": `${SWELLING}b`,
  "small/c.md": "c",
  "plain/d.md": "d".repeat(1.5 * MIB),
  "kept/e.md": "e".repeat(3 * MIB),
  "kept/f.md": "f".repeat(3 * MIB),
};
const LARGE = [
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
  itemPath({ path: "plain/d.md" }),
  listPath({ includeContent: true }),
];

async function startWith(room: Room): Promise<Site & { room: Room }> {
  const site = await startSite(FILES, {
    env: { MISSES_PER_MINUTE: "0" },
    change: (services) => Object.assign(services, { room }),
  });
  return Object.assign(site, { room });
}

function smallRoom(): Room {
  return new Room({ maxBytes: 70 * MIB, maxWaiting: 2, maxWaitMs: 30 });
}

async function read(response: Response): Promise<number> {
  return (await response.bytes()).length;
}

Deno.test("an answer holds its body while it is sent, and nothing after", async () => {
  await using site = await startWith(smallRoom());
  const { service, room } = site;
  for (const path of LARGE) {
    // The second time the answer may be kept.
    for (const turn of ["first", "again"]) {
      const response = await bareRequest(service, path);
      const length = Number(response.headers.get("content-length"));
      assert(length > MIB, path);
      assertEquals([path, turn, room.bytes], [path, turn, length]);
      assertEquals([path, await read(response)], [path, length]);
      assertEquals([path, turn, room.bytes], [path, turn, 0]);
    }
  }
});

Deno.test("an answer gives its room back when it has no body, fails, or loses its reader", async () => {
  await using site = await startWith(smallRoom());
  const { service, gh, room } = site;
  for (const path of LARGE) {
    const tag = await bareRequest(service, path).then(async (response) => {
      await response.body?.cancel();
      return response.headers.get("etag")!;
    });
    assertEquals([path, room.bytes], [path, 0]);
    await bareRequest(service, path, { method: "HEAD" });
    assertEquals([path, "HEAD", room.bytes], [path, "HEAD", 0]);
    const unchanged = await bareRequest(service, path, { headers: { "if-none-match": tag } });
    assertEquals([path, unchanged.status, room.bytes], [path, 304, 0]);
  }
  for (const owner of ["second", "third"]) gh.add(`${owner}/site`, site.repository);
  gh.fault = { kind: "wrong-bytes" };
  const second = itemPath({ owner: "second", path: "posts/b.md" });
  assertEquals((await bareRequest(service, second)).status, 502);
  assertEquals(room.bytes, 0);

  const gone = new AbortController();
  gh.fault = { kind: "hang", only: ["blob", "raw"] };
  const left = bareRequest(service, itemPath({ owner: "third", path: "posts/a.md" }), {
    signal: gone.signal,
  });
  await gh.log.until(() => gh.pauses.waiting > 0);
  assert(room.bytes > 2 * MIB);
  gone.abort();
  await left;
  assertEquals(room.bytes, 0);
});

Deno.test("answers that find no room are busy, small ones go on, and so do those who ask later", async () => {
  await using site = await startWith(smallRoom());
  const { service, room } = site;
  const path = itemPath({ path: "posts/a.md" });
  const first = await Promise.all(Array.from({ length: 12 }, (_, index) => (
    bareRequest(service, `${path}&unknown=${index}`)
  )));
  const sent = first.filter(({ status }) => status === 200);
  const busy = first.filter(({ status }) => status === 503);
  assert(sent.length > 0 && busy.length > 0);
  assertEquals(sent.length + busy.length, first.length);
  for (const response of busy) {
    assertEquals((await response.json()).code, "service-busy");
    assert(Number(response.headers.get("retry-after")) > 0);
  }
  assert(room.bytes <= 70 * MIB);

  assertEquals((await bareRequest(service, listPath({ collection: "small" }))).status, 200);
  assertEquals(
    (await bareRequest(service, listPath({ collection: "small", includeContent: 1 }))).status,
    200,
  );
  for (const response of sent) await read(response);
  assertEquals(room.bytes, 0);
  assertEquals(await read(await bareRequest(service, path)) > 10 * MIB, true);
});

Deno.test("a body that many read at once counts once", async () => {
  await using site = await startWith(smallRoom());
  const { service, room } = site;
  const path = itemPath({ path: "plain/d.md" });
  await read(await bareRequest(service, path));
  const responses = await Promise.all(Array.from({ length: 60 }, () => bareRequest(service, path)));
  const length = Number(responses[0]?.headers.get("content-length"));

  assertEquals(responses.filter(({ status }) => status !== 200), []);
  assertEquals(room.bytes, length);
  for (const response of responses) await read(response);
  assertEquals(room.bytes, 0);
});

Deno.test("a large answer that is kept needs room, too, as soon as it is sent", async () => {
  await using site = await startWith(new Room({ maxBytes: 5 * MIB, maxWaiting: 0, maxWaitMs: 1 }));
  const { service, room } = site;
  const [first, second] = ["kept/e.md", "kept/f.md"].map((path) =>
    itemPath({ path, format: "raw" })
  );
  for (const path of [first!, second!]) {
    const cold = await bareRequest(service, path);
    assertEquals(await read(cold), 3 * MIB);
  }

  const sent = await bareRequest(service, first!);
  assertEquals([sent.status, room.bytes], [200, 3 * MIB]);
  assertEquals((await bareRequest(service, second!)).status, 503);
  await read(sent);
  assertEquals(await read(await bareRequest(service, second!)), 3 * MIB);
});
