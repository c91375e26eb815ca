// Under which address the service was reached, for the addresses in its answers.

import { lastForwarded } from "./forwarded.ts";

/** Stands for the address of a request whose `Host` is none; all that it gets is a problem. */
const NOWHERE = new URL("http://localhost");

/** The origin that answers' addresses begin with: the configured one, the proxy's, or the request's own. */
export function baseUrl(
  request: Request,
  { publicUrl, trustProxy }: { publicUrl: string | null; trustProxy: boolean },
): string {
  if (publicUrl !== null) return publicUrl;
  const own = URL.parse(request.url) ?? NOWHERE;
  if (!trustProxy) return own.origin;
  const protocol = lastForwarded(request, "x-forwarded-proto")?.toLowerCase();
  const host = lastForwarded(request, "x-forwarded-host");
  const scheme = protocol === "https" || protocol === "http" ? `${protocol}:` : own.protocol;
  const name =
    host !== null && /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(host)
      ? host
      : own.host;
  return URL.parse(`${scheme}//${name}`)?.origin ?? own.origin;
}
