import { parseListQuery } from "../../lib/api/list_query.ts";
import { linkHeader, listUrl } from "../../lib/api/urls.ts";
import { listItems } from "../../lib/collections/list_items.ts";
import { answerData } from "../../lib/http/answer_data.ts";
import { jsonContent } from "../../lib/http/ready_body.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/list-collection-items`: one page of a collection's items. */
export const handler = define.handlers({
  GET(ctx) {
    const { services, exchange: { baseUrl, startedAtTick } } = ctx.state;
    const parameters = parseListQuery(ctx.url.search.slice(1));
    return answerData({
      question: { ...parameters, branch: parameters.branch ?? null },
      address: listUrl(baseUrl, parameters),
      async make(reading) {
        const { config: { maxItemBytes }, listings, lists, frontMatters } = services;
        const { body, complete } = await listItems({
          parameters,
          baseUrl,
          maxItemBytes,
          listings,
          lists,
          frontMatters,
          startedAtTick,
        }, reading);
        return { content: jsonContent(body, { link: linkHeader(body.links) }), complete };
      },
    }, ctx.state);
  },
});
