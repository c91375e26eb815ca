// The service behind a GitHub that fails in every way while requests keep
// coming. Known answers stay right, others are problems of the contract, and
// after each fault everything is as it was.

import { assert, assertEquals } from "@std/assert";
import type { Fault } from "../github/github_faults.ts";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = {
  "posts/a.md": "# A\n",
  "posts/b.md": "# B\n",
  "posts/c/d.md": "# D\n",
};
const KNOWN = 5;
const CLIENTS = 10;
const TURNS = 10;

/** Each with the statuses of requests that need the source under it. */
const ATTACKS:
  readonly (readonly [fault: Fault | "down", statuses: readonly number[]])[] = [
    [{ kind: "status", status: 500 }, [502]],
    [{ kind: "status", status: 404 }, [404]],
    [{ kind: "status", status: 451 }, [451]],
    [{ kind: "garbage" }, [502]],
    // A list without contents needs none of the bytes.
    [{ kind: "wrong-bytes" }, [200, 502]],
    [{
      kind: "evil-tree",
      entries: [{ path: "../x", mode: "100644", sha: "1", size: 1 }],
    }, [502]],
    [{ kind: "slow", delayMs: 100 }, [200]],
    [{ kind: "reset" }, [502]],
    [{ kind: "cut" }, [502]],
    ["down", [502]],
  ];
const PATHS = [
  (owner: string) => listPath({ owner }),
  (owner: string) => listPath({ owner, includeContent: true }),
  (owner: string) => itemPath({ owner, path: "posts/c/d.md" }),
];

Deno.test("the service goes on through every fault of its source", async () => {
  await using site = await startSite(FILES, {
    env: { MISSES_PER_MINUTE: "0" },
  });
  const { gh, repository, service } = site;
  let owners = 0;
  const addOwner = () => {
    gh.add(`o${owners}/site`, repository);
    return `o${owners++}`;
  };
  const known = Array.from({ length: KNOWN }, addOwner);
  /**
   * Right bodies for the first repository; those of the others differ in its
   * name alone.
   */
  const right: string[] = [];
  for (const pathOf of PATHS) {
    right.push(await (await service.get(pathOf("o0"))).text());
  }
  const check = async (
    turn: number,
    owner: string,
    allowed: readonly number[],
  ) => {
    const path = PATHS[turn % PATHS.length]!(owner);
    const response = await service.get(path);
    const text = await response.text();
    assert(
      allowed.includes(response.status),
      `${response.status} ${path} ${text.slice(0, 300)}`,
    );
    // Contents that cannot be given are errors of their items.
    if (response.status !== 200 || text.includes('"error":{')) return;
    assertEquals(
      text,
      right[turn % PATHS.length]!.replaceAll(/\bo0\b/g, owner),
    );
  };
  const checkKnown = async () => {
    for (const owner of known) {
      for (const turn of PATHS.keys()) await check(turn, owner, [200]);
    }
  };

  await checkKnown();
  for (const [fault, statuses] of ATTACKS) {
    if (fault === "down") await gh.down();
    else gh.fault = fault;
    await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
      for (let turn = 0; turn < TURNS; turn++) {
        if ((turn + client) % 2 === 0) {
          await check(turn, known[turn % KNOWN]!, [200]);
        } else await check(turn, addOwner(), statuses);
      }
    }));
    if (fault === "down") gh.up();
    else gh.fault = null;
    // No back-off is longer.
    service.clock.advance(3_600_000);
    await checkKnown();
  }
  assertEquals(service.logLines("internal error"), []);
});
