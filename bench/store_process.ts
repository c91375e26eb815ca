// A remote store as a process of its own, which a bench kills and starts again:
// KV Connect over a SQLite file.
//
//   store_process.ts <port> <file>

import { KvConnectServer } from "../tests/kv_connect/kv_connect_server.ts";

const [port = "", file = ""] = Deno.args;
await KvConnectServer.start({ port: Number(port), file });
