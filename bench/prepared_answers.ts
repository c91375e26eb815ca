// Answers taken from the service and handed, as JSON on their input, to the servers that it is compared with. Every
// list of answers gets a port of its own, so that no such server has to look at a request to know what is meant.

/** An answer that is ready to be sent. */
export interface PreparedAnswer {
  /** Path and query of what it answers. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null where there is none, as with 304. */
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/** Answers by a name of what is measured with them. */
export type AnswerLists = Readonly<Record<string, readonly PreparedAnswer[]>>;

/** Ports by the name of the list that is served there. */
export type Ports = Readonly<Record<string, number>>;

/** The text that {@linkcode readAnswers} reads. */
export function writeAnswers(lists: AnswerLists): string {
  return JSON.stringify(
    lists,
    (_, value) => value instanceof Uint8Array ? { base64: value.toBase64() } : value,
  );
}

/** Reads the answers from this process's input. */
export async function readAnswers(): Promise<AnswerLists> {
  return JSON.parse(
    await new Response(Deno.stdin.readable).text(),
    (_, value) => typeof value?.base64 === "string" ? Uint8Array.fromBase64(value.base64) : value,
  );
}

/** Serves each list with the handler that `handlerOf` makes for it, and says on which ports. */
export function serveLists(
  lists: AnswerLists,
  handlerOf: (answers: readonly PreparedAnswer[], name: string) => Deno.ServeHandler,
): void {
  const ports = Object.entries(lists).map(([name, answers]) => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      handlerOf(answers, name),
    );
    return [name, server.addr.port];
  });
  console.log(JSON.stringify(Object.fromEntries(ports)));
}
