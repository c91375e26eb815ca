// Tokens that end: those of a file that changes, and those whose end GitHub
// announces.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { openServices } from "../../../lib/services.ts";
import { parseSettings, SettingsError } from "../../../lib/settings.ts";
import { listPath } from "../../service.ts";
import { startSite } from "../../site.ts";

const DAY_MS = 86_400_000;

Deno.test("GITHUB_TOKEN_FILE is read again when the file changes", async () => {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, "t1,\n");
  const env = { GITHUB_TOKEN_FILE: file };
  await using site = await startSite({ "posts/a.md": "A\n" }, { env });
  const { gh, service } = site;
  for (const token of ["t1", "t2", "t3"]) gh.addToken(token);
  /** The tokens that a check of the branch is sent with. */
  const used = async () => {
    service.clock.advance(61_000);
    gh.resetCounts();
    assertEquals((await service.get(listPath())).status, 200);
    return [...new Set(gh.requests.map(({ token }) => token))];
  };
  assertEquals(await used(), [0]);
  await Deno.writeTextFile(file, "t2\n");
  assertEquals(await used(), [1]);
  // As a mounted secret is replaced: for a moment there is none.
  await Deno.remove(file);
  assertEquals([await used(), await used()], [[1], [1]]);
  await Deno.writeTextFile(file, "two words é");
  assertEquals(await used(), [1]);
  gh.revokeToken("t2");
  assertEquals(await used(), [null]);
  await Deno.writeTextFile(file, "t3");
  assertEquals(await used(), [2]);
  const lines = service.logLines("token file not read");
  assertEquals(lines.map(({ reason }) => reason), ["NotFound", "SyntaxError"]);
  await Deno.remove(file);
});

Deno.test("openServices() stops at unusable tokens and hides them", async () => {
  const GITHUB_APP_ID = "1";
  const pem = "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----";
  const file = await Deno.makeTempFile();
  const rows: { name: string; value: string; env?: object }[] = [
    { name: "GITHUB_TOKEN_FILE", value: file },
    { name: "GITHUB_TOKEN_FILE", value: `${file}.missing` },
    {
      name: "GITHUB_APP_PRIVATE_KEY",
      value: pem,
      env: { GITHUB_APP_ID },
    },
    {
      name: "GITHUB_APP_PRIVATE_KEY_FILE",
      value: `${file}.missing`,
      env: { GITHUB_APP_ID },
    },
  ];
  for (const { name, value, env } of rows) {
    const all = new Map(Object.entries({
      LOCAL_REPOS_DIR: "none",
      [name]: value,
      ...env,
    }));
    const settings = parseSettings((name) => all.get(name));
    const { message } = await assertRejects(
      () => openServices(settings),
      SettingsError,
      `Cannot start with "${name}": `,
    );
    assert(!/canary|\n/.test(message), message);
  }
  await Deno.remove(file);
});

Deno.test("health and log name a token from 14 days before its end", async () => {
  await using site = await startSite({ "posts/a.md": "A\n" }, {
    env: { GITHUB_TOKEN: "t1" },
  });
  const { gh, service } = site;
  const endMs = Math.floor(service.clock.now() / 1000) * 1000 + 15 * DAY_MS;
  const expiresAt = new Date(endMs).toISOString();
  gh.tokenExpiration = `${expiresAt.slice(0, 19).replace("T", " ")} UTC`;
  /** What is said of the token after some time, and how often it was logged. */
  const after = async (ms: number) => {
    service.clock.advance(ms);
    await service.list();
    const bodies = await Promise.all(
      ["", "?ready"].map(async (query) =>
        (await (await service.get(`/api/health${query}`)).json()).expiringTokens
      ),
    );
    assertEquals(bodies[0], bodies[1]);
    const lines = service.logLines("token expires");
    for (const line of lines) assertEquals(line.expiresAt, expiresAt);
    return { expiring: bodies[0], lines: lines.length };
  };
  const expiring = [{ token: 1, expiresAt }];
  assertEquals(await after(DAY_MS - 2_000), { expiring: undefined, lines: 0 });
  assertEquals(await after(61_000), { expiring, lines: 1 });
  assertEquals(await after(61_000), { expiring, lines: 1 });
  assertEquals(await after(DAY_MS), { expiring, lines: 2 });
});
