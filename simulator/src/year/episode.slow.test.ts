import { describe, expect, it } from 'vitest';
import { Episode, runHerd, type Setup } from './episode.js';
import { INCIDENTS, type Incident } from './incidents.js';

const MINUTE_MS = 60_000;
/** Three launches to detect the failure, then probes at increasing intervals. */
const MOST_ORDERS = 12;
/** Requests from before the detection, and probes. The region's regular share is a third of all requests. */
const MOST_LATE = 20;

function incidentOf(name: string): Incident {
  const found = INCIDENTS.find((incident) => incident.name === name);
  if (!found) throw new Error(`there is no incident "${name}"`);
  return found;
}

describe('an incident in one of three regions', () => {
  it.each([
    ['dead region', 13, MOST_ORDERS],
    ['API answers 500', 8, MOST_ORDERS],
    ['stock-out in a zone', 8, Infinity], // the other zone has machines
  ])('%s: all requests are served, and the region is used again when it is over', async (name, minutes, most) => {
    const result = await new Episode(1, true).run(incidentOf(name), minutes);

    expect(result.violations).toEqual([]);
    expect(result.answers.filter(({ isFulfilled }) => !isFulfilled)).toEqual([]);
    expect(result.ordersAfterFirstFailure).toBeLessThanOrEqual(most);
    expect(result.recoveredMs).toBeLessThanOrEqual(5 * MINUTE_MS);
  });
});

describe('an incident in one of three regions of one launcher with standby nodes', () => {
  it('dead region: all requests are served, and the region is used again after the incident', async () => {
    const result = await new Episode(1, true, { oneLauncher: true, minReady: 6 }).run(incidentOf('dead region'), 13);

    expect(result.violations).toEqual([]);
    expect(result.answers.filter(({ isFulfilled }) => !isFulfilled)).toEqual([]);
    expect(result.recoveredMs).toBeLessThanOrEqual(5 * MINUTE_MS);
  });
});

describe('an incident in one of three regions with standby nodes', () => {
  it.each<[string, string, Setup]>([
    ['machines of several launchers do not come up', 'dead region', { minReady: 2, sharedBy: 2 }],
    ['machines hang for ten minutes', 'dead region', { minReady: 2, oneLauncher: true, bootTimeoutS: 600 }],
    ['nothing answers, and no label is kept on standby', 'API answers 500', { sharedBy: 2 }],
  ])('%s: there are never more of them than min-ready, and one probe', async (_what, name, setup) => {
    const result = await new Episode(1, true, setup).run(incidentOf(name), 13);

    expect(result.violations).toEqual([]);
    expect(result.answers.filter(({ isFulfilled }) => !isFulfilled)).toEqual([]);
    expect(result.recoveredMs).toBeLessThanOrEqual(5 * MINUTE_MS);
  });
});

describe('a region that takes ten times as long', () => {
  it('delays few requests while others have capacity, and is used again after the incident', async () => {
    const result = await new Episode(1, true).run(incidentOf('slow region'), 15);

    const late = result.answers.filter(({ waitedMs }) => waitedMs > 2 * MINUTE_MS);
    expect(result.violations).toEqual([]);
    expect(result.answers.length).toBeGreaterThan(250);
    expect(late.length).toBeLessThanOrEqual(MOST_LATE);
    expect(result.recoveredMs).toBeLessThanOrEqual(5 * MINUTE_MS);
  });
});

describe('a burst of requests for a region that slows down under load', () => {
  it('is served completely without ordering all machines at once', async () => {
    const result = await runHerd(1, 200, 'ramp');

    expect(result.violations).toEqual([]);
    expect(result.answers.filter(({ isFulfilled }) => !isFulfilled)).toEqual([]);
    expect(result.mostBooting).toBeLessThan(160);
  });
});
