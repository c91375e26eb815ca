// All tasks of the content thread, by name.

import * as content from "../content/tasks.ts";
import { orderTask } from "../source/git_object_id.ts";
import { readBlobsTask } from "../source/github/blob_answer.ts";
import { readTreeTask } from "../source/github/trees.ts";
import type { Task } from "./compute.ts";

export const TASKS: ReadonlyMap<string, Task<never, unknown>> = new Map(
  [...Object.values(content), orderTask, readBlobsTask, readTreeTask]
    .map((task) => [task.name, task as Task<never, unknown>]),
);
