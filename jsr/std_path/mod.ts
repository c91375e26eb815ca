// The part of @std/path that this service uses, under the published package's
// name; see ../README.md. node:path joins and splits paths by the same rules.

export {
  basename,
  dirname,
  isAbsolute,
  join,
  resolve,
  sep as SEPARATOR,
} from "node:path";
export {
  fileURLToPath as fromFileUrl,
  pathToFileURL as toFileUrl,
} from "node:url";
