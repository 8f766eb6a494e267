import type { JsonObject, Stat } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { encodeProgress, encodeStopped, readProgress } from './launch-progress.js';

const stat = { ctime: 5_000 } as Stat;
const read = (launchState: JsonObject | null) => readProgress({ launchState, stat, stateTimeMs: 9_000 }, 1_500);

describe('the progress of a launch', () => {
  it('is read as it was stored', () => {
    const progress = {
      attempt: 2,
      beganMs: 1_700_000_000_250,
      state: { name: 'waiting', externalId: 'i-1', zone: 'a' },
      imageExternalId: 'image-1',
      isStart: false,
    };

    expect(read(encodeProgress(progress))).toEqual(progress);
  });

  it('begins with the record while nothing has been stored', () => {
    const nothing = { attempt: 1, beganMs: 5_000, state: undefined, imageExternalId: undefined, isStart: false };

    expect(read({})).toEqual(nothing);
    expect(read(null)).toEqual(nothing);
  });

  it('begins no earlier than the record was made, whatever time its writer counted from', () => {
    expect(read({ attempt: 1, began: -300 })).toMatchObject({ beganMs: 5_000 });
    expect(read({ attempt: 1, began: -300, start: true })).toMatchObject({ beganMs: -300_000 });
    expect(read({ attempt: 1, began: 6 })).toMatchObject({ beganMs: 6_000 });
  });

  it('begins with the decision to start a stopped instance, by the clock of ZooKeeper', () => {
    const state = { name: 'starting', externalId: 'i-1' };

    expect(read(encodeStopped(state))).toMatchObject({ attempt: 1, beganMs: 7_500, state, isStart: true });
  });

  it.each([
    [{ attempt: 'two' }],
    [{ attempt: 0 }],
    [{ state: 'waiting' }],
    [{ state: { name: 'waiting' } }],
    [{ state: { externalId: 'i-1' } }],
  ])('ignores what it does not understand: %j', (launchState) => {
    expect(read(launchState)).toMatchObject({ attempt: 1, state: undefined });
  });

  it('leaves out what JSON does not have', () => {
    const state = { name: 'waiting', externalId: 'i-1', zone: undefined };

    expect(encodeProgress({ attempt: 1, beganMs: 0, state })).toEqual({
      attempt: 1,
      began: 0,
      state: { name: 'waiting', externalId: 'i-1' },
    });
  });
});
