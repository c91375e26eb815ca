// The port to the thread that computes over content. It runs tasks. A task is a
// function that either thread can load. Its data can be sent between threads.

/** Limits the time of a task. */
export interface Pace {
  /**
   * Runs one piece of work within the time limit of the task.
   * @throws {TimeLimitError} if it takes longer.
   */
  within<T>(work: () => T): T;
  /**
   * Returns whether the task has used up its turn. A task of many pieces then
   * returns the results it has.
   */
  isOver(): boolean;
  /** Whether the task is not tried again. It may free its input then. */
  readonly isLast: boolean;
}

/**
 * A function that the content thread can run. Input and output are plain data
 * (structured clone).
 */
export interface Task<Input, Output> {
  readonly name: string;
  /**
   * Loads the function. A thread loads heavy modules only for tasks that it
   * runs.
   */
  load(): Promise<(input: Input, pace: Pace) => Output>;
  /**
   * Returns the buffers of an input that are moved to the thread instead of
   * copied. They are free once the task ends, whichever way.
   */
  readonly moveInput?: (input: Input) => ArrayBuffer[];
  /** Returns the buffers of an output that are moved instead of copied. */
  readonly moveOutput?: (output: Output) => ArrayBuffer[];
}

/**
 * Makes a task of a single piece of work. Bytes in its output are moved, so the
 * thread must not keep them.
 */
export function whole<Input, Output>(
  name: string,
  load: () => Promise<(input: Input, pace: Pace) => Output>,
): Task<Input, Output> {
  return {
    name,
    async load() {
      const work = await load();
      return (input, pace) => pace.within(() => work(input, pace));
    },
    moveOutput: (output) =>
      (ArrayBuffer.isView(output) ? [output] : Object.values(output ?? {})
        .filter((value) => value instanceof Uint8Array))
        .map(({ buffer }) => buffer)
        .filter((buffer) => buffer instanceof ArrayBuffer),
  };
}

export interface RunOptions {
  /** Clients share the thread fairly by the time that they use. */
  client: string;
  signal?: AbortSignal | undefined;
  /** Called with the used processor time in ms. */
  charge?: ((processorMs: number) => void) | undefined;
  /**
   * The repository that the input is about. A thread keeps what it derived from
   * a repository's objects.
   */
  repository?: string;
  /**
   * Whether the work is known to be long. Other clients use the thread for up
   * to 5 s before it starts.
   */
  isLong?: boolean;
  /**
   * The input's size in bytes. Set it for work whose time is linear in that
   * size. The serving thread runs small inputs itself at once.
   */
  linearIn?: number;
}

/** Runs tasks. */
export interface Compute {
  /**
   * Returns the output of a task.
   * @throws {TimeLimitError} if a task of a single piece takes too much time or
   * memory.
   * @throws {CollectionsError} if the task throws it.
   * @throws what {@linkcode FairQueue.acquire} throws.
   */
  run<Input, Output>(
    task: Task<Input, Output>,
    input: Input,
    options: RunOptions,
  ): Promise<Output>;
}

/** Thrown for work that was stopped because it took too much time or memory. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}

/**
 * Time limits of a piece of work in ms. `first` is for the first try, which has
 * less with little memory left. `long` is for the second, and for work that is
 * known to be long.
 */
export const LIMIT_MS = { first: 200, long: 2_000 };

/** The memory limit of a thread. What one task needs must fit into it. */
export const MAX_HEAP_MB = 176;

/** How long a task of many pieces runs before others have their turn. */
export const TURN_MS = 100;

/** Smaller inputs of linear work are not sent to the other thread. */
export const SMALL_BYTES = 32 * 1024;

/** Linear work on larger inputs is long. */
export const LONG_BYTES = 8 << 20;

/** Sets no limits. Used for small inputs and if no thread can be started. */
export const unlimited: Pace = {
  within: (work) => work(),
  isOver: () => false,
  isLast: true,
};
