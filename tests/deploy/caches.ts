// nginx and Varnish with the configurations of deploy/, as tests and benches
// run them.

import { assert } from "@std/assert";
import { fromFileUrl } from "@std/path";

/** A cache that tests may run. */
export interface CacheKind {
  readonly name: string;
  readonly program: string;
  /** The file in deploy/, and what replaces its addresses. */
  readonly file: string;
  readonly vary: (
    ports: Readonly<{ cache: number; service: number }>,
    folder: string,
  ) => readonly (readonly [text: string, other: string])[];
  readonly args: (folder: string, port: number) => readonly string[];
  /** Arguments with which the program succeeds if it has what it needs. */
  readonly check: readonly string[];
}

const NGINX_MAIN = (folder: string) =>
  `user root; worker_processes 1; daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  include ${folder}/site;
}`;

export const NGINX: CacheKind = {
  name: "nginx",
  program: "/usr/sbin/nginx",
  file: "nginx.conf",
  vary: ({ cache, service }, folder) => [
    ["127.0.0.1:8000", `127.0.0.1:${service}`],
    ["listen 80;", `listen 127.0.0.1:${cache};`],
    ["/var/cache/nginx/collections", `${folder}/cache`],
  ],
  args: (folder) => ["-c", `${folder}/main`, "-e", `${folder}/error.log`],
  check: ["-v"],
};

export const VARNISH: CacheKind = {
  name: "Varnish",
  program: "/usr/sbin/varnishd",
  file: "varnish.vcl",
  vary: ({ service }) => [['.port = "8000"', `.port = "${service}"`]],
  args: (folder, port) => [
    "-F",
    "-j",
    "none",
    "-n",
    `${folder}/work`,
    "-T",
    "none",
    "-a",
    `127.0.0.1:${port}`,
    "-s",
    "malloc,64m",
    "-f",
    `${folder}/site`,
  ],
  // Compiles a configuration with the module, which Debian packages apart.
  check: ["-C", "-f", fromFileUrl(new URL("xkey.vcl", import.meta.url))],
};

/**
 * Whether a program is there with the modules that the configuration needs;
 * says so in one line where it is not.
 */
export function isThere({ name, program, check }: CacheKind): boolean {
  try {
    const { success, stderr } = new Deno.Command(program, { args: [...check] })
      .outputSync();
    if (success) return true;
    console.log(new TextDecoder().decode(stderr));
  } catch {
    // There is no such program.
  }
  console.log(
    `Skips the tests behind ${name}: apt-get install nginx varnish varnish-modules`,
  );
  return false;
}

/**
 * Writes the configuration of a cache in front of a port into a folder; gives
 * the command that runs it.
 */
export async function cacheCommand(
  kind: CacheKind,
  ports: Readonly<{ cache: number; service: number }>,
  folder: string,
): Promise<string[]> {
  const url = new URL(`../../deploy/${kind.file}`, import.meta.url);
  let text = await Deno.readTextFile(url);
  for (const [before, after] of kind.vary(ports, folder)) {
    assert(text.includes(before), `no ${before}`);
    text = text.replaceAll(before, after);
  }
  await Deno.writeTextFile(`${folder}/site`, text);
  await Deno.writeTextFile(`${folder}/main`, NGINX_MAIN(folder));
  return [kind.program, ...kind.args(folder, ports.cache)];
}
