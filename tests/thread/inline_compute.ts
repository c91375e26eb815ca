// Runs every task on the calling thread.

import { type Compute, unlimited } from "../../lib/thread/compute.ts";

export const inlineCompute: Compute = {
  async run(task, input, { signal }) {
    signal?.throwIfAborted();
    const work = await task.load();
    signal?.throwIfAborted();
    return work(input, unlimited);
  },
};
