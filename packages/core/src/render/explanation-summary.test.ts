import { describe, expect, it } from 'vitest';
import type { PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { summarizeExplanation } from './explanation-summary.js';

function pool(
  provider: string,
  fields: Pick<PoolExplanation, 'action' | 'rule'> & Partial<PoolExplanation>,
): PoolExplanation {
  const base = { provider, pool: 'main', launcherId: provider, own: true, text: '', remedy: '', position: undefined };
  return { ...base, details: {}, hindrances: [], ...fields };
}

function ofLabels(...pools: PoolExplanation[]): RequestExplanation {
  const noOne = { requestor: null, tenant: null, nodes: [], ageMs: undefined, launchError: null };
  return { ...noOne, requestId: undefined, state: 'not submitted', labels: ['big'], pools, launches: [] };
}

const declines = pool('cloud', { action: 'decline', rule: 'exceeds-quota', text: 'it would exceed quota' });
const lacksIt = (...pools: string[]) =>
  pool('rack', { action: 'defer', rule: 'label-elsewhere', details: { missing: ['big'], pools } });

describe('the first line of an explanation', () => {
  it('says that labels fail when every pool that has them declines', () => {
    expect(summarizeExplanation(ofLabels(declines, lacksIt('cloud/main')))).toBe(
      'A request for these labels would fail: no pool can serve it (it would exceed quota)',
    );
  });

  it('leaves the answer open while a pool that has them has not answered', () => {
    expect(summarizeExplanation(ofLabels(declines, lacksIt('cloud/main', 'other/main')))).toBe(
      'A request for these labels would be left to a pool that has not answered yet',
    );
  });

  it('says what keeps the pool from having more nodes, of many things the first', () => {
    const hindrances = ['h1: no address', 'h2: closed', 'h3: other key', 'h4: closed'];
    const waits = pool('rack', { action: 'wait', rule: 'label-quota', text: '1 needed, 0 free', hindrances });

    expect(summarizeExplanation(ofLabels(waits))).toBe(
      'A request for these labels would wait for pool "rack/main": 1 needed, 0 free: ' +
        'h1: no address; h2: closed; h3: other key; and 1 more',
    );
  });

  it('says how the launches of a request went so far', () => {
    const works = pool('cloud', { action: 'handling', rule: 'accept' });
    const launch = { nodeId: '7', provider: 'cloud', pool: 'main', labels: ['big'], state: 'building', ageMs: 0 };
    const launches = ['attempt 1 of 3 failed, the next one has begun: no host', null].map((error) => ({
      ...launch,
      ...{ error, trial: null },
    }));

    expect(summarizeExplanation({ ...ofLabels(works), requestId: '200-1', state: 'pending', launches })).toBe(
      'Request 200-1 is being served by pool "cloud/main": attempt 1 of 3 failed, the next one has begun: no host',
    );
  });
});
