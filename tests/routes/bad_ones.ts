// Which parameters of a request are refused.

import type { ProblemBody } from "../../lib/api/contract.ts";
import type { TestService } from "../service.ts";

/** The parameters that a 400 names, in its order, or null where the request gets past the parameters. */
export async function badOnes(service: TestService, path: string): Promise<string[] | null> {
  const response = await service.get(path);
  if (response.status !== 400) {
    await response.body?.cancel();
    return null;
  }
  const { errors }: ProblemBody = await response.json();
  return errors!.map(({ parameter }) => parameter);
}
