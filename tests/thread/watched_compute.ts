// Runs tasks on the test's own thread, counts them, and may answer in their
// place. What tasks keep belongs to one object of this class, as that of a
// thread belongs to a process.

import type { Compute, RunOptions, Task } from "../../lib/thread/compute.ts";
import { inlineCompute } from "./inline_compute.ts";

export class WatchedCompute implements Compute {
  private readonly id = crypto.randomUUID();
  /** The names of the tasks that ran, with their inputs. */
  readonly runs: {
    readonly task: string;
    readonly input: unknown;
    readonly isLong: boolean;
  }[] = [];
  /**
   * What a task gives instead of its own output; undefined leaves it as it is.
   */
  answer: (task: string, input: unknown) => unknown = () => undefined;

  async run<Input, Output>(
    task: Task<Input, Output>,
    input: Input,
    options: RunOptions,
  ): Promise<Output> {
    const { isLong = false } = options;
    this.runs.push({ task: task.name, input, isLong });
    const answer = await this.answer(task.name, input);
    if (answer !== undefined) return answer as Output;
    const { repository } = input as { repository?: string };
    const own = repository === undefined
      ? {}
      : { repository: `${this.id} ${repository}` };
    return await inlineCompute.run(task, { ...input, ...own }, options);
  }

  /** How many files were given to tasks of this name. */
  filesOf(name: string): number {
    return this.runs.filter(({ task }) => task === name)
      .reduce(
        (sum, { input }) =>
          sum + (input as { files: readonly unknown[] }).files.length,
        0,
      );
  }
}
