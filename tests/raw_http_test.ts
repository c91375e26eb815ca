import { assertEquals, assertRejects } from "@std/assert";
import { rawRequest } from "./raw_http.ts";
import { turns } from "./test_clock.ts";

/** Answers one connection with these pieces, and hangs up. */
async function serveOnce(
  listener: Deno.TcpListener,
  ...pieces: Uint8Array[]
): Promise<void> {
  using connection = await listener.accept();
  await connection.read(new Uint8Array(1024));
  for (const piece of pieces) {
    await connection.write(piece);
    await turns();
  }
}

Deno.test("rawRequest() gives bytes as they came", async () => {
  const head =
    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Encoding: gzip\r\nX-A: b: c\r\n\r\n";
  const packed = new Uint8Array([0x1f, 0x8b, 8, 0, 13, 10, 13, 10]);
  const answer = new Uint8Array([...new TextEncoder().encode(head), ...packed]);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const request = () =>
    rawRequest(listener.addr.port, "GET / HTTP/1.1", "Host: localhost");
  for (const cut of [3, 17, 50, answer.length - 4]) {
    const served = serveOnce(
      listener,
      answer.subarray(0, cut),
      answer.subarray(cut),
    );
    const { status, headers, body } = await request();
    assertEquals([status, headers.get("x-a"), body], [200, "b: c", packed]);
    await served;
    const early = serveOnce(listener, answer.subarray(0, cut));
    await assertRejects(request, Error, "the connection ended early");
    await early;
  }
});
