// What code in the worker of the content thread may read about the system.

import "../../lib/thread/sandbox.ts";

const { state } = Deno.permissions.querySync({ name: "sys" });
(globalThis as unknown as Worker).postMessage(state);
