// The process of the attackers and of the source. It runs at a low priority,
// since on another machine its work would take nothing from the service. The
// bench sends it commands over HTTP:
//   attackers.ts <port> <folder for local repositories>

import { dirname, join } from "@std/path";
import { addTally, Attacker, newTally, type Tally } from "./attacker.ts";
import { rowsNamed } from "./corpus.ts";
import { ordinaryFiles } from "./ordinary_repository.ts";
import { type Files, type Row, siteOf } from "./row.ts";
import {
  Source,
  type SourceAddresses,
  type SourceConfig,
  workFor,
} from "./source.ts";

/** What an attack came to. */
export interface AttackResult extends Tally {
  readonly ms: number;
  readonly sourceRequests: number;
}

/** Each command, with what the bench sends and gets. */
export interface Commands {
  /**
   * Writes the folders of these rows and serves their repositories, in place of
   * those before.
   */
  readonly prepare: (config: SourceConfig) => Promise<SourceAddresses>;
  /** Sends what comes before an attack. */
  readonly first: (attack: { row: string; port: number }) => Promise<Tally>;
  readonly attack: (
    attack: { row: string; port: number; withinMs: number },
  ) => Promise<AttackResult>;
  /**
   * Lets clients of different addresses attack for so long, each with one row
   * at random after another.
   */
  readonly storm: (storm: {
    rows: readonly string[];
    port: number;
    clients: number;
    seconds: number;
    seed: number;
  }) => Promise<Record<string, Tally>>;
  /** Keeps both threads busy for so long. */
  readonly work: (work: { ms: number }) => Promise<null>;
}

/**
 * Addresses of the network that the first requests come from; each sends few,
 * so that none is limited.
 */
const FIRST_NETWORK = "10.1.0";
const ATTACK_NETWORK = "10.2.0";
const REQUESTS_PER_ADDRESS = 40;
/** The first requests may take long on a service that stalls. */
const FIRST_WITHIN_MS = 90_000;
const STORM_ROW_WITHIN_MS = 30_000;

let source: Source | null = null;
const [port = "", folder = ""] = Deno.args;

/** Writes a folder's files. */
async function writeFolder(name: string, files: Files): Promise<void> {
  const made = new Set<string>();
  for (const [path, content] of files) {
    const target = join(folder, name, path);
    const parent = dirname(target);
    if (!made.has(parent)) await Deno.mkdir(parent, { recursive: true });
    made.add(parent);
    if (typeof content === "string") await Deno.writeTextFile(target, content);
    else await Deno.writeFile(target, content);
  }
}

const rowNamed = (name: string): Row => rowsNamed([name])[0]!;

/** Sends requests one after the other, each until it is answered for good. */
async function sendFirst(row: Row, attacker: Attacker): Promise<void> {
  for (const [index, path] of (row.first?.(siteOf(row)) ?? []).entries()) {
    await attacker.from(1 + Math.floor(index / REQUESTS_PER_ADDRESS))
      .sendUntilReady(path);
  }
}

/** Lets a row attack. An attack that breaks is told and stops nothing. */
async function attackWith(row: Row, attacker: Attacker): Promise<void> {
  try {
    await row.attack(attacker, siteOf(row));
  } catch (error) {
    if (!attacker.signal.aborted) attacker.fail(`the attack broke: ${error}`);
  }
}

/** Numbers from 0 up to, and without, 1 (a linear congruential generator). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () =>
    (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

const commands: {
  readonly [Name in keyof Commands]: (
    parameters: Parameters<Commands[Name]>[0],
    signal: AbortSignal,
  ) => ReturnType<Commands[Name]>;
} = {
  async prepare(config) {
    source?.[Symbol.dispose]();
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await writeFolder("ordinary", ordinaryFiles(20));
    for (const row of rowsNamed(config.rows)) {
      if (row.folder !== undefined) await writeFolder(row.name, row.folder());
    }
    source = await Source.start(config);
    return source.addresses;
  },

  async first({ row, port }, signal) {
    const tally = newTally();
    const limited = AbortSignal.any([
      signal,
      AbortSignal.timeout(FIRST_WITHIN_MS),
    ]);
    const options = { port, network: FIRST_NETWORK, signal: limited, tally };
    await sendFirst(rowNamed(row), new Attacker(options));
    return tally;
  },

  async attack({ row, port, withinMs }, signal) {
    const tally = newTally();
    const before = await source!.count();
    const startedMs = performance.now();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
    const attacker = new Attacker({
      port,
      network: ATTACK_NETWORK,
      signal: limited,
      tally,
    });
    await attackWith(rowNamed(row), attacker);
    const ms = performance.now() - startedMs;
    return { ...tally, ms, sourceRequests: await source!.count() - before };
  },

  async storm({ rows, port, clients, seconds, seed }, signal) {
    const random = randomNumbers(seed);
    const all = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
    const tallies: Record<string, Tally> = Object.create(null);
    await Promise.all(Array.from({ length: clients }, async (_, client) => {
      while (!all.aborted) {
        const row = rowNamed(rows[Math.floor(random() * rows.length)]!);
        const tally = newTally();
        const limited = AbortSignal.any([
          all,
          AbortSignal.timeout(STORM_ROW_WITHIN_MS),
        ]);
        const options = {
          port,
          network: `10.3.${client}`,
          signal: limited,
          tally,
        };
        const attacker = new Attacker(options);
        await sendFirst(row, attacker);
        if (!limited.aborted) await attackWith(row, attacker);
        addTally(tallies[row.name] ??= newTally(), tally);
      }
    }));
    return tallies;
  },

  async work({ ms }) {
    const other = source!.work(ms);
    workFor(ms);
    await other;
    return null;
  },
};

if (import.meta.main) {
  Deno.serve(
    { hostname: "127.0.0.1", port: Number(port), onListen() {} },
    async (request) => {
      const name = new URL(request.url).pathname.slice(1);
      if (name === "") return new Response();
      const command = commands[name as keyof Commands] as (
        parameters: unknown,
        signal: AbortSignal,
      ) => Promise<unknown>;
      return Response.json(await command(await request.json(), request.signal));
    },
  );
}
