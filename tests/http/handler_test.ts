import { assertEquals } from "@std/assert";
import { itemPath, startService } from "../service.ts";

Deno.test("createHandler() makes a problem of what fails before the framework", async () => {
  await using service = await startService({
    change(services) {
      services.responses.fresh = () => {
        throw new Error("broken");
      };
      return services;
    },
  });

  const { status, code } = await service.problem(itemPath({ path: "a.md" }));

  assertEquals([status, code], [500, "internal-error"]);
  assertEquals(service.logLines("internal error").length, 1);
});
