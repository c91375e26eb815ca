// The files of deploy/ and compose.yaml beside the code: what they name exists.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { parse } from "yaml";
import { Metrics } from "../../lib/metrics.ts";
import { SETTING_NAMES } from "../../lib/settings.ts";
import { root } from "../source_files.ts";

const read = (path: string) => Deno.readTextFile(join(root, path));

Deno.test("alerts and dashboard name metrics that exist", async () => {
  const none = () => ({
    build_info: {},
    quota_left: {},
    memory_bytes: {},
    store_up: {},
    content_queue: {},
  });
  const text = new Metrics(none).toText();
  const known = text.matchAll(/^# TYPE (\S+)/gm).map(([, name]) => name)
    .toArray();
  for (const path of ["deploy/alerts.yml", "deploy/grafana.json"]) {
    const named = new Set((await read(path)).match(/collections_\w+/g));
    assert(named.size >= 5, path);
    for (const name of named) {
      assert(known.includes(name.replace(/_bucket$/, "")), `${path}: ${name}`);
    }
  }
});

Deno.test("the dashboard's panels do not overlap", async () => {
  const { panels } = JSON.parse(await read("deploy/grafana.json"));
  const ids = new Set(panels.map(({ id }: { id: number }) => id));
  assertEquals(ids.size, panels.length);
  const cells = new Set<string>();
  for (const { gridPos: { x, y, w } } of panels) {
    for (let at = x; at < x + w; at++) {
      assert(at < 24 && !cells.has(`${at} ${y}`), `${at} ${y}`);
      cells.add(`${at} ${y}`);
    }
  }
});

Deno.test("compose pins, checks and confines each service", async () => {
  const { services } = parse(await read("compose.yaml"));
  const dockerfile = await read("Dockerfile");
  for (const [name, service] of Object.entries<Service>(services)) {
    const { image, read_only, cap_drop, security_opt, healthcheck } = service;
    assert(image === undefined || /:\d+\.\d+\.\d+$/.test(image), name);
    assertEquals([read_only, cap_drop, security_opt], [
      true,
      ["ALL"],
      ["no-new-privileges:true"],
    ], name);
    const isChecked = image === undefined
      ? dockerfile.includes("\nHEALTHCHECK ")
      : healthcheck !== undefined;
    assert(isChecked, name);
  }
  const named = Object.keys(services.collections.environment);
  const known = [...SETTING_NAMES, "DENO_KV_ACCESS_TOKEN"];
  assertEquals(named.filter((name) => !known.includes(name)), []);
});

interface Service {
  readonly image?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly healthcheck?: unknown;
}
