import { assert, assertEquals, assertRejects } from "@std/assert";
import { outputOf, pause, startProcess, withProcesses } from "../../bench/processes.ts";
import { configFlag } from "../run_task.ts";

/** The first line of a process's output. */
async function firstLine(file: string): Promise<string> {
  for (;; await pause(5)) {
    const text = await Deno.readTextFile(file).catch(() => "");
    if (text.includes("\n")) return text.split("\n")[0]!;
  }
}

Deno.test("withProcesses() leaves no process behind when a bench fails", async () => {
  const outputFile = await Deno.makeTempFile();
  const ended: Promise<Deno.CommandStatus>[] = [];
  await assertRejects(
    () =>
      withProcesses(async (cleanup) => {
        // One in its care, one forgotten, one that only SIGKILL ends.
        const started = cleanup.use(startProcess(["sleep", "600"]));
        const forgotten = startProcess(["sleep", "600"]);
        const script = "trap '' TERM; echo ready; exec sleep 600";
        const deaf = startProcess(["sh", "-c", script], { outputFile });
        ended.push(started.ended, forgotten.ended, deaf.ended);
        assertEquals(await firstLine(outputFile), "ready");
        throw new Error("Cannot go on");
      }),
    Error,
    "Cannot go on",
  );
  await Deno.remove(outputFile);
  const signals = (await Promise.all(ended)).map(({ signal }) => signal);
  assertEquals(signals, ["SIGTERM", "SIGKILL", "SIGKILL"]);
});

Deno.test("withProcesses() ends its processes and cleans up when a signal ends it", async () => {
  const code = `
    import { startProcess, withProcesses } from ${
    JSON.stringify(new URL("../../bench/processes.ts", import.meta.url).href)
  };
    await withProcesses(async (cleanup) => {
      cleanup.defer(() => Deno.remove(Deno.args[0], { recursive: true }));
      const child = cleanup.use(startProcess(["sleep", "600"]));
      console.log(child.pid);
      await child.ended;
      throw new Error("Cannot go on without it");
    });`;
  const folder = await Deno.makeTempDir();
  const leftover = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/bench.ts`, code);
    const bench = startProcess([
      ...[Deno.execPath(), "run", "--allow-all", await configFlag()] as const,
      ...[`${folder}/bench.ts`, leftover],
    ], { outputFile: `${folder}/output` });
    const pid = Number(await firstLine(`${folder}/output`));
    assert(pid > 0);
    Deno.kill(bench.pid, "SIGTERM");
    assertEquals((await bench.ended).code, 130);
    // Signal 0 only tests whether the process exists.
    await assertRejects(() => outputOf("kill", ["-0", String(pid)]), Error);
    await assertRejects(() => Deno.stat(leftover), Deno.errors.NotFound);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
