import { assertEquals } from "@std/assert";
import { answerData } from "../../lib/http/answer_data.ts";
import { Exchange } from "../../lib/http/exchange.ts";
import { jsonContent } from "../../lib/http/ready_body.ts";
import { startService } from "../service.ts";

Deno.test("answerData() makes an answer anew when the branch took another name meanwhile", async () => {
  const root = await Deno.makeTempDir({ prefix: "answer_data_" });
  const checkOut = (branch: string) =>
    Deno.writeTextFile(`${root}/blog/.git/HEAD`, `ref: refs/heads/${branch}\n`);
  await Deno.mkdir(`${root}/blog/.git`, { recursive: true });
  await Deno.writeTextFile(`${root}/blog/a.md`, "");
  await checkOut("main");
  try {
    await using service = await startService({ env: { LOCAL_REPOS_DIR: root } });
    const { services, clock } = service;
    const request = new Request("http://localhost:8000/");
    const exchange = new Exchange(request, "http://localhost:8000", "192.0.2.1", services);
    const made: string[] = [];

    const response = await answerData({
      question: { owner: "local", repo: "blog", branch: null },
      address: "http://localhost:8000/",
      async make({ snapshot: { branch } }) {
        if (made.length === 0) {
          await checkOut("draft");
          clock.advance(60_000);
        }
        made.push(branch);
        return { content: jsonContent({ branch }), complete: true };
      },
    }, { services, exchange });

    assertEquals(made, ["main", "draft"]);
    assertEquals(await response.json(), { branch: "draft" });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
