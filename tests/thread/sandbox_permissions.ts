// Runs in the worker of the content thread. Reports whether that may still use
// the system's interfaces.

import "../../lib/thread/sandbox.ts";

const { state } = Deno.permissions.querySync({ name: "sys" });
(globalThis as unknown as Worker).postMessage(state);
