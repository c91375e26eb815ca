// Tells whether a path named one and the same folder while files were read through it. Deno opens files by path alone, and
// an author can put a link in the place of any folder on the way and take it back a moment later, so that looking before
// and after finds nothing. But this gives two folders a new change time: the one that was renamed, and the one above it.
// Authors can set other times, but not this one.

import type { Clock } from "../../clock.ts";
import { nullIfMissing } from "./checked_file.ts";

/**
 * Two changes within this time may have the same change time, in ms: Deno gives whole seconds, and kernels read their
 * clock every 10 ms.
 */
export const CHANGE_TIME_RESOLUTION_MS = 1_050;

/** A folder at some moment. */
interface Sight {
  readonly id: string;
  readonly times: string;
  /** Whether each later change gives it other times. */
  readonly isSettled: boolean;
}

/** A folder and those above it, as they were when they were recorded. */
export class FolderTrail {
  private seen: Sight | null = null;

  /** `above` is null for the uppermost folder, which authors cannot replace. It may be a link. */
  constructor(
    readonly path: string,
    private readonly above: FolderTrail | null,
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /** Records the folder. Those above it have to be recorded first. @throws {Deno.errors.NotFound} for none or a link. */
  async record(): Promise<void> {
    this.seen = await this.look();
    if (this.seen === null) throw new Deno.errors.NotFound(`Cannot scan "${this.path}": no folder`);
  }

  /** Records all folders again, the uppermost first. @throws as {@linkcode record}. */
  async renew(): Promise<void> {
    await this.above?.renew();
    await this.record();
  }

  /** Whether {@linkcode held} would see each change since {@linkcode record}. */
  isSettled(): boolean {
    if (this.above === null) return true;
    const isOwn = this.seen?.isSettled || this.above.seen?.isSettled;
    return Boolean(isOwn) && this.above.isSettled();
  }

  /**
   * Whether the path has named this folder ever since it was recorded: of each two neighbors on the way, one has not
   * changed at all. The innermost folder is looked at first, so that the later looks confirm its path as well.
   */
  async held(isUnchangedBelow = true): Promise<boolean> {
    const { seen } = this;
    const sight = await this.look();
    if (seen === null || seen.id !== sight?.id) return false;
    const isUnchanged = seen.isSettled && seen.times === sight.times;
    if (!isUnchanged && !isUnchangedBelow) return false;
    return await this.above?.held(isUnchanged) ?? true;
  }

  private async look(): Promise<Sight | null> {
    const read = this.above === null ? Deno.stat : Deno.lstat;
    const info = await nullIfMissing(read(this.path));
    if (info === null || !info.isDirectory) return null;
    const { dev, ino, ctime, mtime } = info;
    const times = [ctime?.getTime(), mtime?.getTime()];
    // A time in the future was given by another clock. A change now gets another one.
    const ageMs = Math.abs(this.clock.now() - (times[0] ?? times[1] ?? 0));
    const isSettled = ageMs >= CHANGE_TIME_RESOLUTION_MS;
    return { id: `${dev} ${ino}`, times: times.join(), isSettled };
  }
}
