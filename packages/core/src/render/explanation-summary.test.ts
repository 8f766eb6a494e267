import { describe, expect, it } from 'vitest';
import type { Condition } from '../contract/condition.js';
import type { PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { summarizeExplanation } from './explanation-summary.js';

function pool(
  provider: string,
  fields: Pick<PoolExplanation, 'action' | 'rule'> & Partial<PoolExplanation>,
): PoolExplanation {
  const base = { provider, pool: 'main', launcherId: provider, own: true, text: '', remedy: '', position: undefined };
  return { ...base, details: {}, blockers: [], ...fields };
}

function ofLabels(...pools: PoolExplanation[]): RequestExplanation {
  const noOne = { requestor: null, tenant: null, nodes: [], ageMs: undefined, launchError: null };
  return { ...noOne, requestId: undefined, state: 'not submitted', labels: ['big'], pools, launches: [] };
}

const declines = pool('cloud', { action: 'decline', rule: 'exceeds-quota', text: 'it would exceed quota' });
const lacksIt = (...pools: string[]) =>
  pool('rack', { action: 'defer', rule: 'label-elsewhere', details: { missing: ['big'], pools } });

describe('the first line of an explanation', () => {
  it('reports failing labels when every pool that offers them declines', () => {
    expect(summarizeExplanation(ofLabels(declines, lacksIt('cloud/main')))).toBe(
      'A request for these labels would fail: no pool can serve it (it would exceed quota)',
    );
  });

  it('leaves the result open while a pool that offers them has not answered', () => {
    expect(summarizeExplanation(ofLabels(declines, lacksIt('cloud/main', 'other/main')))).toBe(
      'A request for these labels would be left to a pool that has not answered yet',
    );
  });

  it('lists the first blockers of the pool, and counts the rest', () => {
    const blockers = ['h1: no address', 'h2: closed', 'h3: other key', 'h4: closed'];
    const waits = pool('rack', { action: 'wait', rule: 'label-quota', text: '1 needed, 0 free', blockers });

    expect(summarizeExplanation(ofLabels(waits))).toBe(
      'A request for these labels would wait for pool "rack/main": 1 needed, 0 free: ' +
        'h1: no address; h2: closed; h3: other key; and 1 more',
    );
  });

  it('shows the launch errors of a request', () => {
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

  it('names the paused pool to which other pools defer the labels', () => {
    const paused = pool('cloud', {
      action: 'defer',
      rule: 'paused-by-operator',
      text: 'label "big" is paused by alice',
    });

    expect(summarizeExplanation(ofLabels(lacksIt('cloud/main'), paused))).toBe(
      'A request for these labels would wait until pool "cloud/main" takes requests again: label "big" is paused by alice',
    );
  });
});

const AT_ONCE = 'would be served at once by pool "cloud/main"';

describe('the first line of an explanation beside conditions', () => {
  const accepts = (provider: string) =>
    pool(provider, { action: 'accept', rule: 'accept', text: 'it can be served now' });
  const wrong = (type: string, name: string, message: string, status: Condition['status'] = 'true'): Condition => ({
    ...{ kind: 'provider', name, type, status, severity: 'error', reason: 'Unauthorized', message, nextStep: '' },
    ...{ evidence: {}, sinceMs: 0, lastSeenMs: 0 },
  });
  const notServed = wrong('NotServed', 'big', 'no pool can serve it now: cloud/main: 4 launches in a row failed: 401');
  const failing = wrong('LaunchesFail', 'cloud', '4 launches in a row failed: 401');
  const silent = wrong('CallsUnanswered', 'cloud', 'the cloud has not answered a call for 25 s');
  const labelFails = wrong('LabelLaunchesFail', 'cloud/big', '3 launches of label "big" in a row failed: 404');
  const notStarted = wrong('NotStarted', 'cloud', 'it could not be started: 401');

  it.each([
    [
      'a label is not served',
      [notServed],
      'would wait: no pool can serve it now: cloud/main: 4 launches in a row failed: 401',
    ],
    [
      'launches fail',
      [failing],
      'would be served by pool "cloud/main" only from the nodes that it has: 4 launches in a row failed: 401',
    ],
    [
      'its cloud does not answer',
      [failing, silent],
      'would be served by pool "cloud/main" only from the nodes that it has: the cloud has not answered a call for 25 s',
    ],
    [
      'its provider is not started',
      [notStarted],
      'would wait: no pool can serve it now: pool "cloud/main": it could not be started: 401',
    ],
    [
      'launches of its label fail',
      [labelFails],
      'would be served by pool "cloud/main" only from the nodes that it has: 3 launches of label "big" in a row failed: 404',
    ],
    ['launches of another label fail', [{ ...labelFails, name: 'cloud/huge' }], AT_ONCE],
    ['it is over', [{ ...notServed, status: 'unknown' as const }], AT_ONCE],
    ['it is about another label', [{ ...notServed, name: 'huge' }], AT_ONCE],
  ])('agrees with them when %s', (_what, conditions, expected) => {
    expect(summarizeExplanation(ofLabels(accepts('cloud')), conditions)).toBe(`A request for these labels ${expected}`);
  });

  it.each([failing, labelFails])('names the pool that can serve the labels before one with $type', (condition) => {
    expect(summarizeExplanation(ofLabels(accepts('cloud'), accepts('rack')), [condition])).toBe(
      'A request for these labels would be served at once by pool "rack/main"',
    );
  });

  it('names the unserved label when there are several', () => {
    const two = { ...ofLabels(accepts('cloud')), requestId: '200-1', state: 'requested', labels: ['big', 'small'] };

    expect(summarizeExplanation(two, [notServed])).toBe(
      'Request 200-1 waits: label "big": no pool can serve it now: cloud/main: 4 launches in a row failed: 401',
    );
  });
});
