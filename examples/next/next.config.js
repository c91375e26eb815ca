import { resolve } from "node:path";

// The client is a folder outside this one. With the package of a service this file is not needed.
const root = resolve(import.meta.dirname, "../..");
export default { turbopack: { root }, outputFileTracingRoot: root };
