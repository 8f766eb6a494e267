import { expect, it } from 'vitest';
import { systemClock } from '../base/clock.js';
import type { Sliced } from './model/sliced.js';
import { SlicedWork } from './sliced-work.js';

/** Work that takes longer than a slice, and notes when it has ended. */
function* longWork(ended: string[], name: string): Sliced<void> {
  const endMs = performance.now() + 60;
  while (performance.now() < endMs) yield undefined;
  ended.push(name);
}

it('ends what waited for the work as well when it must finish now', () => {
  const ended: string[] = [];
  const work = new SlicedWork(systemClock, () => ended.push('all'));
  work.begin(longWork(ended, 'first'));
  work.whenIdle(() => work.begin(longWork(ended, 'second')));

  work.finishNow();

  expect(work.isBusy).toBe(false);
  expect(ended).toEqual(['first', 'second', 'all']);
});
