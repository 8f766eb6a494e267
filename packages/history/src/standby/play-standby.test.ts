import { describe, expect, it } from 'vitest';
import { playStandby } from './play-standby.js';

const MINUTE_MS = 60_000;
const BOOT_MS = 2 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;

function play(arrivals: readonly (readonly [minute: number, nodes: number])[], levelAt: (atMs: number) => number) {
  const scene = {
    arrivals: arrivals.map(([minute, nodes]) => ({ atMs: minute * MINUTE_MS, nodes })),
    ...{ sinceMs: 0, untilMs: HOUR_MS, bootMs: () => BOOT_MS },
  };
  return playStandby(scene, { levelAt });
}

describe('played standby nodes', () => {
  it('serve requests at once and are replaced', () => {
    const { waitsMs, idleHours, bootHours } = play(
      [
        [10, 1],
        [20, 1],
      ],
      () => 1,
    );

    expect(waitsMs).toEqual([0, 0]);
    expect(bootHours).toBeCloseTo(4 / 60);
    expect(idleHours).toBeCloseTo((60 - 2 - 2) / 60);
  });

  it('do not help while they are being replaced', () => {
    expect(
      play(
        [
          [10, 1],
          [11, 1],
          [13, 1],
        ],
        () => 1,
      ).waitsMs,
    ).toEqual([0, BOOT_MS, 0]);
  });

  it('do not help a request for more nodes than there are', () => {
    expect(play([[10, 2]], () => 1)).toMatchObject({ waitsMs: [BOOT_MS], unused: 0 });
  });

  it('are deleted when fewer are wanted, and launched ahead of time when more are', () => {
    const { waitsMs, idleHours, unused } = play([[32, 2]], (atMs) =>
      atMs < 10 * MINUTE_MS ? 3 : atMs >= 30 * MINUTE_MS ? 2 : 0,
    );

    expect(waitsMs).toEqual([0]);
    expect(idleHours).toBeCloseTo((3 * 10 + 2 * 26) / 60);
    expect(unused).toBe(3);
  });

  it('are none without a number', () => {
    expect(play([[10, 1]], () => 0)).toMatchObject({ waitsMs: [BOOT_MS], idleHours: 0, unused: 0 });
  });
});
