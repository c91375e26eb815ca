import { assertEquals, assertRejects } from "@std/assert";
import { RawClient } from "../../bench/clients.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const PACKED = new Uint8Array([0x1f, 0x8b, 8, 0, 13, 10, 13, 10]);
const HEAD = encode(
  "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Encoding: gzip\r\nX-A: b: c\r\n\r\n",
);
const ANSWER = new Uint8Array([...HEAD, ...PACKED]);
const NOT_MODIFIED = encode('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n');

Deno.test("RawClient gives bytes as they came, wherever they were cut, and says when they end early", async () => {
  for (const cut of [3, 17, HEAD.length - 2, ANSWER.length - 4]) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const served = (async () => {
      // One connection for all requests.
      using connection = await listener.accept();
      const request = new Uint8Array(1024);
      for (const answer of [ANSWER, NOT_MODIFIED, ANSWER.subarray(0, -1)]) {
        await connection.read(request);
        await connection.write(answer.subarray(0, cut));
        await new Promise((resolve) => setTimeout(resolve, 0));
        await connection.write(answer.subarray(cut));
      }
    })();
    using client = await RawClient.connect(`http://127.0.0.1:${listener.addr.port}`);
    const { status, headers, body } = await client.get("/a?b=c");
    assertEquals([status, headers.get("x-a"), body], [200, "b: c", PACKED]);
    const { status: again, body: none } = await client.get("/", { "if-none-match": '"a"' });
    assertEquals([again, none.length], [304, 0]);
    await assertRejects(() => client.get("/"), Error, "the connection ended");
    await served;
  }
});
