// Where and when something was measured, for the head of a report.

import { outputOf } from "./processes.ts";

/** A line each on the date, the machine and the programs. `versions` are those of programs beside Deno. */
export async function describeMachine(
  versions: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const { total } = Deno.systemMemoryInfo();
  return [
    `Date: ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`,
    `Machine: ${await processorName()}, ${navigator.hardwareConcurrency} cores, ${
      (total / 2 ** 30).toFixed(0)
    } GiB, ${Deno.build.os}; load average at the start ${Deno.loadavg()[0]!.toFixed(1)}`,
    `Deno ${Deno.version.deno}, V8 ${Deno.version.v8}${
      Object.entries(versions).map(([name, version]) => `, ${name} ${version}`).join("")
    }`,
  ];
}

async function processorName(): Promise<string> {
  try {
    // Deno itself reads nothing of /proc without all permissions.
    const text = await outputOf("cat", ["/proc/cpuinfo"]);
    return text.match(/^model name\s*:\s*(.+)$/m)?.[1] ?? Deno.build.arch;
  } catch {
    return Deno.build.arch;
  }
}
