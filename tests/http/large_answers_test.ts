// Large answers take room while they are sent, but none where there is nothing new to hold: what is sent already, what the
// caller has already, and what has no body.

import { assertEquals } from "@std/assert";
import { itemPath, type TestService } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { gzipReady } from "./gzip_ready.ts";

const ROOM_BYTES = 256 << 20;
const path = itemPath({ path: "noise.txt" });
const CODINGS = ["identity", "gzip"];

/** Digits of chance, so that gzip leaves more of them than an answer may have that needs no room. */
function noise(bytes: number): string {
  const random = new Uint8Array(bytes / 2);
  for (let at = 0; at < random.length; at += 65_536) {
    crypto.getRandomValues(random.subarray(at, at + 65_536));
  }
  return random.toHex();
}

/** A service that keeps one large answer, in both codings. */
async function startLarge(): Promise<Site> {
  const site = await startSite({ "noise.txt": noise(6 << 20) }, {
    env: { CACHE_MEMORY_MB: "256" },
  });
  await (await site.service.get(path)).body!.cancel();
  await gzipReady(site.service, path);
  return site;
}

async function fillRoom({ services: { room } }: TestService): Promise<void> {
  await room.enter(ROOM_BYTES - room.bytes);
}

/** Asks without reading any of the body, which the test service would do. */
function ask({ handler }: TestService, headers: Record<string, string>): Promise<Response> {
  const remoteAddr: Deno.NetAddr = { transport: "tcp", hostname: "192.0.2.1", port: 50_000 };
  const request = new Request(`http://localhost:8000${path}`, { headers });
  return handler(request, { remoteAddr, completed: Promise.resolve() });
}

for (const coding of CODINGS) {
  Deno.test(`a large answer in ${coding} that is being sent takes no more room`, async () => {
    await using site = await startLarge();
    const { service } = site;
    const headers = { "accept-encoding": coding };
    const first = await ask(service, headers);
    await fillRoom(service);

    const second = await ask(service, headers);

    assertEquals(second.status, 200);
    assertEquals(second.headers.get("content-length"), first.headers.get("content-length"));
    await first.body!.cancel();
    await second.body!.cancel();
  });

  Deno.test(`a large answer in ${coding} takes no room where no body is sent`, async () => {
    await using site = await startLarge();
    const { service } = site;
    const headers = { "accept-encoding": coding };
    const response = await service.get(path, { headers });
    const etag = response.headers.get("etag")!;
    await response.body!.cancel();
    await fillRoom(service);

    const known = await service.get(path, { headers: { ...headers, "if-none-match": etag } });
    const head = await service.get(path, { method: "HEAD", headers });

    assertEquals([known.status, known.headers.get("etag")], [304, etag]);
    assertEquals([head.status, head.headers.get("etag")], [200, etag]);
    assertEquals(head.headers.get("content-length"), response.headers.get("content-length"));
    assertEquals(service.services.room.bytes, ROOM_BYTES);
  });
}

Deno.test("a large answer that is small in gzip takes no room in that coding", async () => {
  await using site = await startSite({ "noise.txt": "all the same ".repeat(300_000) }, {
    env: { CACHE_MEMORY_MB: "256" },
  });
  const { service } = site;
  await (await service.get(path)).body!.cancel();
  await gzipReady(service, path);
  await fillRoom(service);

  const response = await service.get(path, { headers: { "accept-encoding": "gzip" } });

  assertEquals([response.status, response.headers.get("content-encoding")], [200, "gzip"]);
  await response.body!.cancel();
});

Deno.test("an answer that waited for room is as old as it is when it leaves", async () => {
  await using site = await startLarge();
  const { clock, services: { room } } = site.service;
  const enter = room.enter.bind(room);
  room.enter = (bytes, signal) => {
    clock.advance(7_000);
    return enter(bytes, signal);
  };

  const response = await ask(site.service, {});

  assertEquals(response.headers.get("age"), "7");
  await response.body!.cancel();
});

Deno.test("an answer that waited for room until its check was too old is given after another check", async () => {
  await using site = await startLarge();
  const { gh, service } = site;
  const { clock, services: { room } } = service;
  const enter = room.enter.bind(room);
  room.enter = (bytes, signal) => {
    clock.advance(60_000);
    return enter(bytes, signal);
  };
  gh.resetCounts();

  const response = await ask(service, {});

  assertEquals([response.status, response.headers.get("age")], [200, "0"]);
  assertEquals(gh.counts(), { commit: 1 });
  await response.body!.cancel();
});
