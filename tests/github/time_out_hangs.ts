// Time-outs without waiting: the time of a request is up as soon as nothing goes on but what hangs. However slow the
// machine is, no request that would have been answered is cut short.

import type { TestClock } from "../test_clock.ts";
import type { GithubDouble } from "./github_double.ts";

/** From now on what hangs at the double times out at those who ask it by this clock, and they alone ask. */
export function timeOutHangs(clock: TestClock, { pauses }: GithubDouble): void {
  const look = () => {
    // Who asks sets an alarm and calls it off when the answer has come: none is left for anything but what hangs.
    if (pauses.hanging === 0 || pauses.hanging < clock.alarms) return;
    pauses.giveUp();
    clock.ring();
  };
  clock.onAlarm = look;
  pauses.onHang = () => {
    look();
    // Who waits without a time-out would wait without end: a broken connection tells the test.
    if (clock.alarms === 0) queueMicrotask(() => pauses.release());
  };
}
