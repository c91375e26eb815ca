import { assert, assertEquals, assertRejects } from "@std/assert";
import { RawClient } from "../../bench/clients.ts";

Deno.test("RawClient gives compressed bytes as they came, over one connection", async () => {
  const ports = new Set<number>();
  const packed = new Uint8Array([0x1f, 0x8b, 8, 0, 13, 10, 13, 10]);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, { remoteAddr }) => {
      ports.add(remoteAddr.port);
      return request.headers.get("if-none-match") === '"a"'
        ? new Response(null, { status: 304, headers: { etag: '"a"' } })
        : new Response(packed, { headers: { "content-encoding": "gzip", etag: '"a"' } });
    },
  );
  using client = await RawClient.connect(`http://127.0.0.1:${server.addr.port}`);
  for (let i = 0; i < 3; i++) {
    const { status, headers, body } = await client.get("/a?b=c");
    assertEquals([status, headers.get("content-encoding"), body], [200, "gzip", packed]);
    const { status: again, body: none } = await client.get("/", { "if-none-match": '"a"' });
    assertEquals([again, none.length], [304, 0]);
  }
  assertEquals(ports.size, 1);
});

Deno.test("RawClient puts an answer together wherever it was cut, and says when it ends early", async () => {
  const answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b: c\r\n\r\nhello";
  for (const cut of [3, 17, 50, answer.length - 4]) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const served = (async () => {
      using connection = await listener.accept();
      const buffer = new Uint8Array(1024);
      await connection.read(buffer);
      const bytes = new TextEncoder().encode(answer);
      await connection.write(bytes.subarray(0, cut));
      await new Promise((resolve) => setTimeout(resolve, 0));
      await connection.write(bytes.subarray(cut));
      await connection.read(buffer);
      await connection.write(bytes.subarray(0, answer.length - 1));
    })();
    using client = await RawClient.connect(`http://127.0.0.1:${listener.addr.port}`);
    const { headers, body } = await client.get("/");
    assertEquals([headers.get("x-a"), new TextDecoder().decode(body)], ["b: c", "hello"]);
    const error = await assertRejects(() => client.get("/"), Error);
    assert(error.message.includes("the connection ended"));
    await served;
  }
});
