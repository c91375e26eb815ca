// Writes client.js and client.d.ts. npm also runs it when it packs the package.

import { execSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const cwd = import.meta.dirname;
const file = `${cwd}/client.d.ts`;
execSync("npx -y deno transpile --declaration --outdir . client.ts", {
  cwd,
  stdio: "inherit",
});
// It names the folder in which it was built.
const text = readFileSync(file, "utf8");
writeFileSync(file, text.replace(/^\/\/\/ <amd-module.*\n/m, ""));
