// One request and its answer, the same way on every server of the double: write it down, refuse
// what nobody expects, let a hook or a fault step in, answer, send.

import { type Fault, replyInstead, spoil } from "./github_faults.ts";
import type { LoggedRequest, RequestKind } from "./github_log.ts";
import { type Reply, unexpectedReply, UnexpectedRequest } from "./github_reply.ts";
import type { GithubState } from "./github_state.ts";

/** What a server makes of a request: how to answer it, or why it does not expect it. */
export interface Exchange {
  kind: RequestKind;
  /** A sentence, if nobody expects this request. */
  refusal: string | null;
  answer(): Promise<Reply>;
  /** Headers that answers of faults carry too. */
  headers(): Record<string, string>;
}

/** What breaks a connection because a test asked for it. */
export class InjectedFault extends Error {}

/** Answers one request. */
export async function exchange(
  state: GithubState,
  request: Request,
  { kind, refusal, answer, headers }: Exchange,
): Promise<Response> {
  const { pathname, search, host } = new URL(request.url);
  const logged: LoggedRequest = {
    kind,
    method: request.method,
    path: pathname + search,
    status: 0,
    token: state.accounts.caller(request.headers.get("authorization"))?.index ?? null,
    conditional: request.headers.has("if-none-match"),
    bytes: 0,
    aborted: false,
    atMs: state.now(),
    userAgent: request.headers.get("user-agent"),
  };
  const end = state.log.begin(logged);
  try {
    const reason = refusal ?? (logged.userAgent ? null : "no User-Agent") ??
      (host.startsWith("127.0.0.1:") ? null : `host ${host}`);
    if (reason !== null) throw new UnexpectedRequest(reason);
    await state.pauses.sleep(state.latencyMs);
    const taken = await state.intercept?.(request, logged) ?? null;
    if (taken) {
      logged.status = taken.status;
      return taken;
    }
    const fault = state.faultFor(logged, request);
    if (fault?.kind === "slow") await state.pauses.sleep(fault.delayMs);
    if (fault?.kind === "hang") logged.aborted = await state.pauses.hang(request.signal);
    const instead = fault ? replyInstead(fault, state.now()) : null;
    const reply = instead
      ? { ...instead, headers: { ...headers(), ...instead.headers } }
      : fault
      ? spoil(fault, await answer(), kind)
      : await answer();
    return send(state, { logged, fault, reply });
  } catch (error) {
    if (!(error instanceof UnexpectedRequest)) throw error;
    logged.kind = "unexpected";
    state.log.unexpected.push(`${logged.method} ${logged.path}: ${error.message}`);
    return send(state, { logged, fault: null, reply: unexpectedReply(error.message) });
  } finally {
    end();
  }
}

function send(
  state: GithubState,
  sent: { logged: LoggedRequest; fault: Fault | null; reply: Reply },
): Response {
  const { logged, fault, reply: { status, headers, body } } = sent;
  if (status === 301) logged.kind = "redirect";
  logged.status = status;
  logged.bytes = body.length;
  if (status === 304) return new Response(null, { status, headers });
  if (!fault || !["hang", "stall", "reset", "cut"].includes(fault.kind)) {
    return new Response(body, { status, headers });
  }
  const gone = new AbortController();
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      if (body.length > 1) controller.enqueue(body.subarray(0, body.length >> 1));
      if (fault.kind === "stall") logged.aborted = await state.pauses.hang(gone.signal);
      if (gone.signal.aborted) return;
      if (fault.kind === "cut") controller.close();
      else controller.error(new InjectedFault());
    },
    cancel: () => gone.abort(),
  });
  const length = { "content-length": String(body.length) };
  return new Response(stream, { status, headers: { ...headers, ...length } });
}
