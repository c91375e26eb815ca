// The messages of KV Connect's data path (denoland/denokv, proto/kv-connect.md
// and proto/schema/datapath.proto), as far as the service uses them.
// Enumerations are whole numbers here, which is the same on the wire.

import {
  create,
  createFileRegistry,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

/** What a mutation does. */
export const MutationType = { SET: 1, DELETE: 2 } as const;
/** How a read or a write went. */
export const Status = { SUCCESS: 1, CHECK_FAILURE: 2 } as const;

/** A value as it travels: bytes, and how they encode it. */
export interface KvValue {
  data: Uint8Array;
  encoding: number;
}

/** An entry as it travels; a versionstamp has 10 bytes. */
export interface KvEntry {
  key: Uint8Array;
  value: Uint8Array;
  encoding: number;
  versionstamp: Uint8Array;
}

/** The messages by name. */
export interface Messages {
  SnapshotRead: {
    ranges: { start: Uint8Array; end: Uint8Array; limit: number }[];
  };
  SnapshotReadOutput: {
    ranges: { values: KvEntry[] }[];
    readIsStronglyConsistent: boolean;
    status: number;
  };
  AtomicWrite: {
    checks: { key: Uint8Array; versionstamp: Uint8Array }[];
    mutations: { key: Uint8Array; value?: KvValue; mutationType: number }[];
  };
  AtomicWriteOutput: { status: number; versionstamp: Uint8Array };
  Watch: { keys: { key: Uint8Array }[] };
  WatchOutput: {
    status: number;
    keys: { changed: boolean; entryIfChanged?: KvEntry }[];
  };
}

// Each field: name, number, type; `*` in front of a type: repeated. A type that
// is not a scalar is a message.
const fields: Record<string, string> = {
  SnapshotRead: "ranges 1 *ReadRange",
  ReadRange: "start 1 BYTES, end 2 BYTES, limit 3 INT32",
  SnapshotReadOutput:
    "ranges 1 *ReadRangeOutput, readIsStronglyConsistent 4 BOOL, status 8 INT32",
  ReadRangeOutput: "values 1 *KvEntry",
  AtomicWrite: "checks 1 *Check, mutations 2 *Mutation",
  AtomicWriteOutput: "status 1 INT32, versionstamp 2 BYTES",
  Check: "key 1 BYTES, versionstamp 2 BYTES",
  Mutation: "key 1 BYTES, value 2 KvValue, mutationType 3 INT32",
  KvValue: "data 1 BYTES, encoding 2 INT32",
  KvEntry: "key 1 BYTES, value 2 BYTES, encoding 3 INT32, versionstamp 4 BYTES",
  Watch: "keys 1 *WatchKey",
  WatchKey: "key 1 BYTES",
  WatchOutput: "status 1 INT32, keys 2 *WatchKeyOutput",
  WatchKeyOutput: "changed 1 BOOL, entryIfChanged 2 KvEntry",
};

function describe(field: string) {
  const [name = "", number, type = ""] = field.split(" ");
  const bare = type.replace("*", "");
  const label = type === bare ? Label.OPTIONAL : Label.REPEATED;
  const kind = bare in Type
    ? { type: Type[bare as keyof typeof Type] }
    : { type: Type.MESSAGE, typeName: `.kv.${bare}` };
  return { name, number: Number(number), label, ...kind };
}

const file = create(FileDescriptorProtoSchema, {
  name: "datapath.proto",
  package: "kv",
  syntax: "proto3",
  messageType: Object.entries(fields).map(([name, text]) => ({
    name,
    field: text.split(", ").map(describe),
  })),
});
const registry = createFileRegistry(file, () => undefined);
const descriptor = (name: string) => registry.getMessage(`kv.${name}`)!;

/** Reads a message. @throws {Error} where the bytes are none. */
export function decode<N extends keyof Messages>(
  name: N,
  bytes: Uint8Array,
): Messages[N] {
  return fromBinary(descriptor(name), bytes) as unknown as Messages[N];
}

/** Writes a message. */
export function encode<N extends keyof Messages>(
  name: N,
  message: Messages[N],
): Uint8Array<ArrayBuffer> {
  return toBinary(descriptor(name), create(descriptor(name), message));
}
