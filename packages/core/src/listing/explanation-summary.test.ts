import { describe, expect, it } from 'vitest';
import type { PoolExplanation, RequestExplanation } from '../runtime/explanation.js';
import { summarizeExplanation } from './explanation-summary.js';

function pool(provider: string, fields: Pick<PoolExplanation, 'action' | 'rule'> & Partial<PoolExplanation>) {
  const base = { provider, pool: 'main', launcherId: provider, own: true, text: '', remedy: '', position: undefined };
  return { ...base, details: {}, ...fields };
}

function ofLabels(...pools: PoolExplanation[]): RequestExplanation {
  const nobody = { requestor: null, tenant: null, nodes: [], ageMs: undefined, launchError: null };
  return { ...nobody, requestId: undefined, state: 'not submitted', labels: ['big'], pools };
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
});
