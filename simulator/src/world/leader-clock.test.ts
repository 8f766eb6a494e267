import { VirtualClock } from '@nodepool/core/testing';
import { AGREED_TIME_PATH } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { LeaderClock } from './leader-clock.js';

/** A leader whose clock is 60 s ahead, and a launcher that knew the time before. */
function open() {
  const clock = new LeaderClock(new VirtualClock());
  const reports: string[] = [];
  clock.onViolation = (violation) => reports.push(violation);
  clock.onLost = () => reports.push('lost');
  clock.change(60_000, (who) => who === 'launcher1');
  const notify = (who: string, ahead: number, term: number) => {
    const data = Buffer.from(JSON.stringify({ ahead, since: 0, term }));
    const changes = [{ change: 'setData', path: AGREED_TIME_PATH, data, version: 1 }] as const;
    clock.told(who, { zxid: term * 2 ** 32 + 1, timeMs: 0, changes });
  };
  return { reports, notify, clock };
}

it('accepts that launchers count on as before, and reports one that knew the time and does not', () => {
  const { reports, notify } = open();
  notify('launcher1', -60, 1);
  notify('launcher2', -20, 1); // the first one counts
  expect(reports).toEqual([]);

  notify('launcher1', -20, 2);

  expect(reports).toEqual(['launcher1 sets the time of all launchers 40000 ms wrong', 'lost']);
});

it('lets those count by the leader that find another database, whose terms repeat', () => {
  const { reports, notify, clock } = open();
  notify('launcher1', -60, 1);

  expect(clock.databaseReplaced()).toBe(true);
  notify('launcher1', 0, 1);

  expect(reports).toEqual(['lost']);
});

it('lets those that cannot know the time count by the leader, and on from there', () => {
  const { reports, notify } = open();

  notify('launcher2', 0, 1);
  notify('launcher1', 0, 2);

  expect(reports).toEqual(['lost']);
});
