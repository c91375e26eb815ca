// The key of a request as it came: all that its answer depends on, taken without parsing anything.

/** What {@linkcode requestKey} must know of the deployment. */
export interface RequestKeyOptions {
  readonly trustProxy: boolean;
}

/** The address as it came and, behind a trusted proxy, what that says of the origin. */
export function requestKey(request: Request, { trustProxy }: RequestKeyOptions): string {
  if (!trustProxy) return request.url;
  const { headers } = request;
  return `${request.url}\n${headers.get("x-forwarded-proto")}\n${headers.get("x-forwarded-host")}`;
}
