import { define } from "../../../lib/http/state.ts";
import type { Services } from "../../../lib/services.ts";

export const isEnabled = ({ webhook }: Services): boolean => webhook !== null;

/**
 * `POST /api/webhooks/github`: GitHub reports a changed repository. The route
 * exists only if GITHUB_WEBHOOK_SECRET is set.
 */
export const handler = define.handlers({
  POST: ({ req, state: { services, context } }) =>
    services.webhook!.receive(req, context),
});
