import { LIMITS, listParameters } from "../../lib/api/parameters.ts";
import { parseQuery } from "../../lib/api/query.ts";
import { linkHeader, listUrl } from "../../lib/api/urls.ts";
import { listItems } from "../../lib/collections/list_items.ts";
import { answerData } from "../../lib/http/answer_data.ts";
import { jsonContent } from "../../lib/http/ready_body.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/list-collection-items`: one page of a collection's items. */
export const handler = define.handlers({
  GET(ctx) {
    const { services, exchange: { baseUrl } } = ctx.state;
    const parameters = parseQuery(
      ctx.url.search.slice(1),
      listParameters,
      ({ limit, includeContent }) =>
        includeContent && limit !== undefined && limit > LIMITS.contentPage
          ? [{
            parameter: "limit",
            message: `must be at most ${LIMITS.contentPage} when content is included`,
          }]
          : [],
    );
    return answerData({
      question: { ...parameters, branch: parameters.branch ?? null },
      address: listUrl(baseUrl, parameters),
      async make(reading) {
        const { maxItemBytes } = services.config;
        const { body, complete } = await listItems({ parameters, baseUrl, maxItemBytes }, reading);
        return { content: jsonContent(body, { link: linkHeader(body.links) }), complete };
      },
    }, ctx.state);
  },
});
