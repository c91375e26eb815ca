import { assertEquals, assertRejects } from "@std/assert";
import {
  outputOf,
  pause,
  startProcess,
  withProcesses,
} from "../../bench/processes.ts";
import { configFlag } from "../run_task.ts";

Deno.test("withProcesses() leaves no process behind when a bench fails", async () => {
  const ended: Promise<Deno.CommandStatus>[] = [];
  const failing = withProcesses((cleanup) => {
    const inItsCare = cleanup.use(startProcess(["sleep", "600"]));
    const forgotten = startProcess(["sleep", "600"]);
    ended.push(inItsCare.status, forgotten.status);
    return Promise.reject(new Error("Cannot go on"));
  });
  await assertRejects(() => failing, Error, "Cannot go on");
  const signals = (await Promise.all(ended)).map(({ signal }) => signal);
  assertEquals(signals, ["SIGTERM", "SIGTERM"]);
});

Deno.test("withProcesses() cleans up when a signal ends it", async () => {
  const folder = await Deno.makeTempDir();
  const code = `
    import { startProcess, withProcesses } from "${
    import.meta.resolve("../../bench/processes.ts")
  }";
    await withProcesses(async (cleanup) => {
      cleanup.defer(() => Deno.remove("${folder}", { recursive: true }));
      const child = cleanup.use(startProcess(["sleep", "600"]));
      console.log(child.pid);
      await child.status;
      throw new Error("Cannot go on without it");
    });`;
  const outputFile = `${folder}/output`;
  const bench = startProcess([
    Deno.execPath(),
    "eval",
    await configFlag(),
    code,
  ], { outputFile });
  let pid = NaN;
  while (Number.isNaN(pid)) {
    await pause(5);
    pid = parseInt(await Deno.readTextFile(outputFile).catch(() => ""));
  }
  Deno.kill(bench.pid, "SIGTERM");
  assertEquals((await bench.status).code, 130);
  // Signal 0 only tests whether the process exists.
  await assertRejects(() => outputOf(["kill", "-0", String(pid)]), Error);
  await assertRejects(() => Deno.stat(folder), Deno.errors.NotFound);
});
