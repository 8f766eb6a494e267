import { VirtualClock } from '@nodepool/core/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { LoginEnds } from './login-ends.js';

const clock = new VirtualClock();
let warnings: unknown[] = [];
let ends: LoginEnds;

beforeEach(() => {
  warnings = [];
  ends = new LoginEnds(clock, { warn: (_message, fields) => void warnings.push(fields?.['reason']) });
});

const note = (lifeMs: number) => ends.note('login', clock.now() + lifeMs);

describe('the end of credentials that a program prints', () => {
  it('is no problem when there is none, or a minute is left', async () => {
    for (let i = 0; i < 3; i++) {
      ends.note('login', undefined);
      note(60_000);
      await clock.advance(61_000);
    }

    expect(ends.found).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('is warned of once for each cause, though it comes and goes', () => {
    for (const lifeMs of [1_000, -1_000, 600_000, 2_000, -2_000]) note(lifeMs);

    expect(warnings).toEqual(['Short', 'Expired']);
  });

  it('is shown when it is wrong for a minute without a break', async () => {
    for (const lifeMs of [1_000, 600_000, 1_000, 1_000]) {
      note(lifeMs);
      await clock.advance(40_000);
      expect(ends.found).toBeUndefined();
    }

    note(0);

    expect(ends.found).toMatchObject({ reason: 'Expired', sinceMs: clock.now() - 80_000, lastSeenMs: clock.now() });
  });

  it('is not shown sooner when the clock of the computer is set', () => {
    let nowMs = 1_000_000;
    const stepping = { now: () => nowMs, steadyNow: () => 5 };
    const judged = new LoginEnds(stepping, { warn: () => undefined });

    judged.note('login', nowMs + 1_000);
    nowMs += 3_600_000;
    judged.note('login', nowMs + 1_000);

    expect(judged.found).toBeUndefined();
  });

  it('is no problem of a program that prints from its cache what ends soon, until it has ended', async () => {
    const endsMs = clock.now() + 70_000;
    ends.note('login', endsMs);
    await clock.advance(20_000);
    ends.note('login', endsMs);
    expect(warnings).toEqual([]);

    await clock.advance(60_000);
    ends.note('login', endsMs);

    expect(warnings).toEqual(['Expired']);
  });
});
