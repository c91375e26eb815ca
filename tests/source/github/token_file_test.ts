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
  await using site = await startSite({ "posts/a.md": "A\n" }, {
    env: { GITHUB_TOKEN_FILE: file },
  });
  const { gh, service } = site;
  for (const token of ["t1", "t2", "t3"]) gh.addToken(token);
  /** The tokens that a check of the branch is sent with. */
  const used = async () => {
    service.clock.advance(61_000);
    gh.resetCounts();
    assertEquals((await service.get(listPath())).status, 200);
    return new Set(gh.requests.map(({ token }) => token));
  };
  assertEquals(await used(), new Set([0]));
  await Deno.writeTextFile(file, "t2\n");
  gh.revokeToken("t1");
  assertEquals(await used(), new Set([1]));
  // As a mounted secret is replaced: for a moment there is none.
  await Deno.remove(file);
  assertEquals([await used(), await used()], [new Set([1]), new Set([1])]);
  await Deno.writeTextFile(file, "two words é");
  assertEquals(await used(), new Set([1]));
  gh.revokeToken("t2");
  assertEquals(await used(), new Set([null]));
  await Deno.writeTextFile(file, "t3");
  assertEquals(await used(), new Set([2]));
  const lines = service.logLines("token file not read").map(({ reason }) =>
    reason
  );
  assertEquals(lines, ["NotFound", "SyntaxError"]);
  assert(!/t[123]/.test(service.logLines("token file not read").join()));
  await Deno.remove(file);
});

Deno.test("openServices() stops where GITHUB_TOKEN_FILE has no tokens", async () => {
  const file = await Deno.makeTempFile();
  for (const path of [file, `${file}.missing`]) {
    const env: Record<string, string> = {
      LOCAL_REPOS_DIR: "none",
      GITHUB_TOKEN_FILE: path,
    };
    const config = parseSettings((name) => env[name]);
    const { message } = await assertRejects(
      () => openServices(config),
      SettingsError,
    );
    assert(
      message.startsWith('Cannot start with "GITHUB_TOKEN_FILE": '),
      message,
    );
  }
  await Deno.remove(file);
});

Deno.test("health and log name a token from 14 days before its end", async () => {
  await using site = await startSite({ "posts/a.md": "A\n" }, {
    env: { GITHUB_TOKEN: "t1" },
  });
  const { gh, service } = site;
  gh.addToken("t1");
  const expiresAtMs = Math.floor((service.clock.now() + 15 * DAY_MS) / 1000) *
    1000;
  const expiresAt = new Date(expiresAtMs).toISOString();
  gh.tokenExpiration = `${expiresAt.slice(0, 19).replace("T", " ")} UTC`;
  const after = async (ms: number) => {
    service.clock.advance(ms);
    await service.list();
    const bodies = await Promise.all(["", "?ready"].map(async (query) => {
      return (await (await service.get(`/api/health${query}`)).json())
        .expiringTokens;
    }));
    assertEquals(bodies[0], bodies[1]);
    return bodies[0];
  };
  assertEquals([await after(0), await after(DAY_MS - 1_000)], [
    undefined,
    undefined,
  ]);
  assertEquals(service.logLines("token expires"), []);
  const expiring = [{ token: 1, expiresAt }];
  assertEquals([await after(61_000), await after(61_000)], [
    expiring,
    expiring,
  ]);
  assertEquals(service.logLines("token expires").length, 1);
  assertEquals(await after(DAY_MS), expiring);
  const lines = service.logLines("token expires");
  assertEquals(lines.map(({ token, expiresAt }) => ({ token, expiresAt })), [
    ...expiring,
    ...expiring,
  ]);
});
