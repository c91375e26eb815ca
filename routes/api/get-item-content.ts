import { itemParameters } from "../../lib/api/parameters.ts";
import { parseQuery } from "../../lib/api/query.ts";
import { itemUrl } from "../../lib/api/urls.ts";
import { itemBodyOf, readItem } from "../../lib/collections/read_item.ts";
import { answerData } from "../../lib/http/answer_data.ts";
import { rawContent } from "../../lib/http/raw_content.ts";
import { jsonContent } from "../../lib/http/ready_body.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/get-item-content`: one file, as JSON or as it is. */
export const handler = define.handlers({
  GET(ctx) {
    const { services, exchange: { baseUrl } } = ctx.state;
    const parameters = parseQuery(ctx.url.search.slice(1), itemParameters);
    return answerData({
      question: { ...parameters, branch: parameters.branch ?? null },
      address: itemUrl(baseUrl, parameters),
      async make(reading) {
        const request = { parameters, baseUrl, maxItemBytes: services.config.maxItemBytes };
        const file = await readItem(request, reading);
        const content = parameters.format === "raw"
          ? rawContent(file)
          : jsonContent(await itemBodyOf(file, { request, reading }));
        return { content, complete: true };
      },
    }, ctx.state);
  },
});
