// Bounds how many bytes are written within any hour, however they are spread over it. Bytes are counted by the minute
// in which they were taken and come free again an hour after the end of that minute.

const SLOT_MS = 60_000;
// The running minute and the 60 before it: an hour that begins within a minute is covered whole.
const SLOTS = 61;

/** Options of {@linkcode WriteBudget}. */
export interface WriteBudgetOptions {
  /** The most that is given in any hour; 0 gives nothing. */
  readonly maxBytesPerHour: number;
  /** The time in ms since the epoch. */
  readonly now?: () => number;
}

/** Says whether bytes may still be written. */
export class WriteBudget {
  private readonly maxBytesPerHour: number;
  private readonly now: () => number;
  private readonly slots = new Array<number>(SLOTS).fill(0);
  private slot = 0;
  private taken = 0;

  constructor(options: WriteBudgetOptions) {
    this.maxBytesPerHour = options.maxBytesPerHour;
    this.now = options.now ?? Date.now;
  }

  /** Takes bytes out of the budget; false, and nothing taken, where that many are not left. */
  take(bytes: number): boolean {
    this.forgetOld();
    if (this.taken + bytes > this.maxBytesPerHour) return false;
    this.taken += bytes;
    this.slots[this.slot % SLOTS]! += bytes;
    return true;
  }

  private forgetOld(): void {
    // A clock that is set back must not free anything twice: time then stands still.
    const current = Math.max(this.slot, Math.floor(this.now() / SLOT_MS));
    const steps = Math.min(current - this.slot, SLOTS);
    for (let step = 0; step < steps; step++) {
      const index = (current - step) % SLOTS;
      this.taken -= this.slots[index]!;
      this.slots[index] = 0;
    }
    this.slot = current;
  }
}
