// The port to the thread that computes over content. What is asked of it is a task: a function that can be loaded on
// either thread, of plain data that can be sent between them.

/** How a task bounds itself. */
export interface Pace {
  /**
   * Runs one piece of work within the time limit of the task.
   * @throws {TimeLimitError} where it takes longer.
   */
  within<T>(work: () => T): T;
  /** Whether the task has run for as long as one turn may take. A task of many pieces returns what it has by then. */
  isOver(): boolean;
}

/** A function that the content thread can run. Input and output are plain data (structured clone). */
export interface Task<Input, Output> {
  readonly name: string;
  /** Loads the function. Nothing heavy is loaded on a thread that does not run it. */
  load(): Promise<(input: Input, pace: Pace) => Output>;
  /** What of an output is moved to the other thread instead of copied. */
  readonly transfer?: (output: Output) => ArrayBuffer[];
}

export interface RunOptions {
  /** Clients share the thread fairly by the time that they use. */
  readonly client: string;
  readonly signal?: AbortSignal | undefined;
  /** Called with the processor time that was used, in ms. */
  readonly charge?: ((processorMs: number) => void) | undefined;
  /** Whose objects the input is about: a thread keeps what it derived of them. */
  readonly repository?: string;
  /** Whether the work is known to be long: it starts when no other client's short work waits. */
  readonly isLong?: boolean;
  /**
   * The input's size in bytes, for work whose time is linear in it. Small inputs are worked on at once by the thread that
   * serves requests.
   */
  readonly linearIn?: number;
}

/** Runs tasks. */
export interface Compute {
  /**
   * The output of a task.
   * @throws {TimeLimitError} where a task that is one piece takes too long or too much memory.
   * @throws {CollectionsError} what the task throws of this kind. @throws what {@linkcode FairQueue.acquire} throws.
   */
  run<Input, Output>(
    task: Task<Input, Output>,
    input: Input,
    options: RunOptions,
  ): Promise<Output>;
}

/** Work that was stopped, since it took too long or too much memory. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}

/** The time limits of a piece of work: on its first try, and where it is known to be long. */
export const LIMIT_MS = { first: 250, long: 2_000 };

/** How long a task of many pieces goes on before others have their turn. */
export const TURN_MS = 100;

/** Smaller inputs of linear work are not sent to the other thread. */
export const SMALL_BYTES = 32 * 1024;

/** No limits: for work that is bounded by its small input, and where no thread can be started. */
export const unlimited: Pace = { within: (work) => work(), isOver: () => false };
