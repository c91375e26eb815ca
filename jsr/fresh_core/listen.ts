// Starts the server of an app.

/** What `listen()` takes: the options of `Deno.serve()`. */
export type ListenOptions =
  & Partial<Deno.ServeTcpOptions & Deno.TlsCertifiedKeyPem>
  & { remoteAddress?: string };

/** Answers requests, with the signature that `Deno.serve()` requires. */
export type Handler = (
  request: Request,
  info?: Deno.ServeHandlerInfo,
) => Promise<Response>;

const FIRST_PORT = 8000;
const LAST_PORT = 8019;

/**
 * Serves on `options.port`, or else on the first free port from 8000.
 *
 * @throws {Deno.errors.AddrInUse} When the port is taken, or every one up to 8019.
 */
export function listen(handler: Handler, options: ListenOptions): void {
  if (options.port) {
    Deno.serve(options, handler);
    return;
  }
  for (let port = FIRST_PORT;; port++) {
    try {
      Deno.serve({ ...options, port }, handler);
      return;
    } catch (error) {
      if (port === LAST_PORT || !(error instanceof Deno.errors.AddrInUse)) {
        throw error;
      }
    }
  }
}
