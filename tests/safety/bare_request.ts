// A request to a test service whose response nobody has looked at: `TestService.get()` reads each to hold it to the
// contract.

import type { TestService } from "../service.ts";

/** The response, body unread. */
export function bareRequest(
  service: TestService,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  return service.handler(new Request(`http://localhost:8000${path}`, init), {
    remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 50_000 },
    completed: Promise.resolve(),
  });
}
