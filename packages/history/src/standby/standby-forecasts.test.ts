import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, type LabelConfig, type Logger } from '@nodepool/core';
import type { StandbyLevel } from '@nodepool/core/launcher';
import { VirtualClock } from '@nodepool/core/testing';
import { LEASE_REQUESTOR } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FollowedLauncher } from '../../test/support/followed-launcher.js';
import { node, request } from '../../test/support/records.js';
import { SLOT_MS } from './demand.js';
import { StandbyForecasts } from './standby-forecasts.js';

const GOAL = { targetWaitMs: 5_000, idleBudget: undefined, atMost: 9 };
const LABEL: LabelConfig = { name: 'small', minReady: 1, maxReadyAgeMs: 0, standby: GOAL };

class ForecastLauncher extends FollowedLauncher {
  level: StandbyLevel | undefined;
  keepStandby(levels: ReadonlyMap<string, StandbyLevel>): void {
    this.level = levels.get('small');
  }
}

let directory: string;
let path: string;
let clock: VirtualClock;
let launcher: ForecastLauncher;
let forecasts: StandbyForecasts;
let warnings: string[];
let asked: number;
const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-standby-'));
  path = join(directory, 'demand.jsonl');
  clock = new VirtualClock(1_000 * SLOT_MS + 60_000);
  warnings = [];
  asked = 0;
});
afterEach(async () => {
  forecasts.stop();
  await rm(directory, { recursive: true });
});

/** Starts a launcher with the record of an earlier one. */
async function start(labels: readonly LabelConfig[] = [LABEL]): Promise<void> {
  launcher = new ForecastLauncher();
  forecasts = new StandbyForecasts({ clock, logger, path });
  forecasts.configure(labels);
  forecasts.start(launcher as never);
  if (labels.some(({ standby }) => standby)) await expect.poll(() => launcher.level).toBeDefined();
}

/** Requests at the same moment. */
function ask(count: number, requestor = 'zuul'): void {
  for (let i = 0; i < count; i++) {
    const after = request(`200-${asked++}`, { requestor });
    launcher.requests.notify({ id: after.id, before: undefined, after });
  }
}

/** Lets time pass, with two requests in each quarter of an hour. */
async function pass(slots: number): Promise<void> {
  for (let i = 0; i < slots; i++) {
    ask(2);
    await clock.advance(SLOT_MS);
  }
}

describe('forecasts of a launcher', () => {
  it('follow the demand once there is enough of it', async () => {
    await start();
    const first = launcher.level;

    await pass(16);

    expect(first).toMatchObject({ nodes: 1, isFallback: true });
    expect(launcher.level).toMatchObject({ nodes: 2, isFallback: false });
    expect(launcher.level?.reason).toContain('2 standby nodes serve 100 of 100 requests');
  });

  it('are shown for the last day, also after a restart', async () => {
    await start();
    await pass(16);
    const [before] = forecasts.curves;
    await expect.poll(() => readFile(path, 'utf8')).toContain('"slot":1015');
    forecasts.stop();
    await start();
    const [after, ...others] = forecasts.curves;

    expect(others).toEqual([]);
    expect(before).toMatchObject({ label: 'small', nodes: 2, isFallback: false, reason: launcher.level?.reason });
    expect(before?.slots).toHaveLength(96);
    expect(before?.slots.at(-2)).toEqual({ beginMs: 1_015 * SLOT_MS, kept: 2, needed: 2 });
    expect(before?.slots[0]).toMatchObject({ kept: undefined, needed: undefined });
    expect(after?.slots.at(-2)).toEqual(before?.slots.at(-2));
  });

  it('are made for each of many labels', async () => {
    const others = Array.from({ length: 25 }, (_, i) => ({ ...LABEL, name: `label-${i}` }));
    launcher = new ForecastLauncher();
    forecasts = new StandbyForecasts({ clock, logger, path });
    forecasts.configure([...others, LABEL]);
    forecasts.start(launcher as never);
    await expect.poll(() => clock.pendingTimers).toBe(1);

    await clock.advance(10);

    expect(launcher.level).toMatchObject({ nodes: 1 });
  });

  it('do not count requests of launchers', async () => {
    await start();

    ask(40, 'NodePool:min-ready');
    await pass(9);

    expect(launcher.level?.reason).toBe('min-ready 1, as only 18 requests are on record, and a forecast needs 20');
  });

  it('count leases', async () => {
    await start();

    ask(40, LEASE_REQUESTOR);
    await pass(9);

    expect(launcher.level?.reason).not.toMatch(/^min-ready/);
  });

  it('learn how long a launch takes', async () => {
    await start();
    const state = (name: 'building' | 'ready') => node('1', { state: name });
    launcher.nodes.notify({ id: '1', before: undefined, after: state('building') });
    await clock.advance(3_000);
    launcher.nodes.notify({ id: '1', before: state('building'), after: state('ready') });

    await pass(16);

    expect(launcher.level).toMatchObject({ nodes: 0, reason: 'a launch takes 3.0 s, within target-wait 5.0 s' });
  });

  it('survive a restart', async () => {
    await start();
    await pass(16);
    await expect.poll(async () => (await readFile(path, 'utf8')).split('\n').length).toBe(16); // 15 whole slots
    forecasts.stop();

    await start();

    expect(launcher.level).toMatchObject({ nodes: 2, isFallback: false });
  });

  it('do nothing while no label has standby, and begin when one has', async () => {
    await start([{ ...LABEL, standby: undefined }]);
    expect(clock.pendingTimers).toBe(0);

    forecasts.configure([LABEL]);
    await expect.poll(() => launcher.level).toMatchObject({ nodes: 1 });

    forecasts.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('min-ready applies', () => {
  it('when the record is damaged, which is logged', async () => {
    await writeFile(path, 'no json\n');

    await start();

    expect(launcher.level).toMatchObject({ nodes: 1, isFallback: true });
    expect(warnings).toEqual(['Skipping damaged lines of recorded demand']);
  });

  it('when the record cannot be read or written, until there is enough in memory', async () => {
    await mkdir(path);
    await start();
    const first = launcher.level;

    await pass(16);

    expect(first).toMatchObject({ nodes: 1, isFallback: true });
    expect(launcher.level).toMatchObject({ nodes: 2, isFallback: false });
    expect(warnings[0]).toBe('Could not read the recorded demand; min-ready applies until there is enough again');
    await expect.poll(() => warnings.at(-1)).toBe('Could not record the demand; it is known until a restart');
  });

  it.each([
    ['is of another configuration', 'large', 200, 0],
    ['has one request a month', 'small', 2_000, 1],
  ])('when the record %s', async (_, label, slots, requests) => {
    const lines = Array.from({ length: slots }, (__, at) => {
      const needs = at === 0 ? { [label]: [1] } : {};
      return `${JSON.stringify({ slot: 1_000 + at, needs, boots: {} })}\n`;
    });
    await writeFile(path, lines.join(''));
    clock = new VirtualClock((1_000 + slots) * SLOT_MS);

    await start();

    expect(launcher.level).toMatchObject({ nodes: 1, isFallback: true });
    expect(launcher.level?.reason).toContain(`only ${requests} requests are on record, and a forecast needs 20`);
  });

  it('when the clock went back', async () => {
    await start();
    await pass(16);
    await expect.poll(async () => (await readFile(path, 'utf8')).split('\n').length).toBe(16);
    forecasts.stop();
    clock = new VirtualClock(clock.now() - 8 * SLOT_MS);

    await start();

    await expect.poll(() => launcher.level?.reason).toContain('the clock has jumped');
  });
});
