import { routeNotFound } from "../../../lib/errors.ts";
import { define } from "../../../lib/http/state.ts";

/** `POST /api/webhooks/github`: GitHub reports that a repository changed; only where GITHUB_WEBHOOK_SECRET is set. */
export const handler = define.handlers({
  POST({ req, state: { services, context } }) {
    if (services.webhook === null) throw routeNotFound();
    return services.webhook.receive(req, context);
  },
});
