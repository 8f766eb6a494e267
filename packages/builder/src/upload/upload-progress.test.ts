import { silentLogger } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { Progress } from '../context/progress.js';
import { UploadProgress } from './upload-progress.js';

const MEBIBYTE = 1_048_576;

/** Reports of an upload, of which so many MiB had been sent after so many seconds. */
function follow(...sent: readonly [number, number][]): (number | undefined)[][] {
  let nowMs = 0;
  const clock = { ...systemClock, now: () => nowMs, steadyNow: () => nowMs };
  const reports: Progress[] = [];
  const at = { image: 'debian', buildId: 'b1', startedMs: 0 };
  const progress = new UploadProgress({ clock, logger: silentLogger }, at, (report) => void reports.push(report));
  for (const [seconds, mebibytes] of sent) {
    nowMs = seconds * 1_000;
    progress.sent(mebibytes * MEBIBYTE, 1_000 * MEBIBYTE);
  }
  return reports.map(({ bytesPerSecond = 0, secondsLeft }) => [Math.round(bytesPerSecond / MEBIBYTE), secondsLeft]);
}

it('measures the rate from the first data, not from the wait before them', () => {
  expect(follow([20, 0], [21, 28], [22, 56])).toEqual([
    [0, undefined],
    [28, 35],
    [28, 34],
  ]);
});

it('gives the rate of the last 30 s', () => {
  const slow = Array.from({ length: 100 }, (_, second): [number, number] => [second, second]);
  const fast = Array.from({ length: 31 }, (_, second): [number, number] => [100 + second, 100 + 20 * second]);

  expect(follow(...slow, ...fast).at(-1)).toEqual([20, 15]);
});

it('gives no time left before a rate can be measured', () => {
  expect(follow([20, 1], [20.1, 2])).toEqual([
    [1, undefined],
    [2, undefined],
  ]);
});
