// Time-outs without waiting: the time of a request is up as soon as nothing goes on but what hangs. However slow the
// machine is, no request that would have been answered is cut short.

import type { TestClock } from "../test_clock.ts";
import type { GithubDouble } from "./github_double.ts";

/** From now on requests to the double that hang time out, while the clock stands still. `timeoutMs` is the client's. */
export function timeOutHangs(
  clock: TestClock,
  { pauses }: GithubDouble,
  { timeoutMs = 10_000 } = {},
): void {
  /** One for each request under way: it is canceled when the answer has come. */
  const timers = new Set<() => void>();
  const setTimer = clock.setTimer.bind(clock);
  const look = () => {
    if (pauses.hanging === 0 || pauses.hanging < timers.size) return;
    pauses.giveUp();
    const due = [...timers];
    timers.clear();
    for (const timeOut of due) timeOut();
  };
  clock.setTimer = (ms, callback) => {
    if (ms !== timeoutMs) return setTimer(ms, callback);
    timers.add(callback);
    return () => {
      if (timers.delete(callback)) look();
    };
  };
  pauses.onHang = () => {
    look();
    // A client without a time-out would wait without end: a broken connection tells the test.
    if (timers.size === 0) queueMicrotask(() => pauses.release());
  };
}
