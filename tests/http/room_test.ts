import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { Room } from "../../lib/http/room.ts";

const OPTIONS = { maxBytes: 100, maxWaiting: 2, maxWaitMs: 60_000 };

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Notes in `entered` by name who got in; gives what ends the waiting. */
function queue(room: Room, entered: string[]) {
  return (name: string, bytes: number, signal?: AbortSignal) =>
    room.enter(bytes, signal).then((place) => {
      entered.push(name);
      return place;
    });
}

Deno.test("Room lets in what fits, and the next in the order of asking as others leave", async () => {
  const room = new Room(OPTIONS);
  const entered: string[] = [];
  const enter = queue(room, entered);
  const a = await enter("a", 60);
  const b = await enter("b", 40);
  const c = enter("c", 50);
  await turn();
  assertEquals([entered.join(), room.bytes], ["a,b", 100]);

  b.resize(20);
  const d = enter("d", 10);
  await turn();
  // d would fit, but nobody overtakes.
  assertEquals([entered.join(), room.bytes], ["a,b", 80]);

  a.resize(0);
  await Promise.all([c, d]);
  assertEquals([entered.join(), room.bytes], ["a,b,c,d", 80]);
});

Deno.test("Room gives all of itself to what is larger", async () => {
  const room = new Room(OPTIONS);
  const large = await room.enter(1000);
  assertEquals(room.bytes, 100);

  large.resize(0);
  assertEquals(room.bytes, 0);
});

Deno.test("Room refuses whoever finds the queue full, or waits too long", async () => {
  const room = new Room({ ...OPTIONS, maxWaitMs: 1 });
  await room.enter(100);
  const waiting = [room.enter(1), room.enter(1)];

  const refused = [room.enter(1), ...waiting].map((entering) =>
    assertRejects(() => entering, CollectionsError)
  );
  for (const error of await Promise.all(refused)) {
    assertEquals([error.code, error.facts.retryAfterSeconds], ["service-busy", 5]);
  }
  assertEquals(room.bytes, 100);
});

Deno.test("Room lets go of who left while waiting, and lets those behind him in", async () => {
  const room = new Room(OPTIONS);
  const entered: string[] = [];
  const enter = queue(room, entered);
  await enter("a", 60);
  const gone = new AbortController();
  const b = enter("b", 90, gone.signal);
  const c = enter("c", 40);

  gone.abort(new Error("gone"));
  await assertRejects(() => b, Error, "gone");
  await c;
  assertEquals([entered.join(), room.bytes], ["a,c", 100]);
});

Deno.test("Room counts a body once, however many it is sent to", async () => {
  const room = new Room(OPTIONS);
  const body = new Uint8Array(70);
  const ends = [room.send(body), room.send(body), room.send(body)];
  assertEquals([room.bytes, room.isSent(body)], [70, true]);
  const waiting = room.enter(50);

  ends[0]!();
  ends[1]!();
  assertEquals([room.bytes, room.isSent(body)], [70, true]);
  ends[2]!();
  await waiting;
  assertEquals([room.bytes, room.isSent(body)], [50, false]);
});
