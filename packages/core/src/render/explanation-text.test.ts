import { describe, expect, it } from 'vitest';
import type { Condition } from '../contract/condition.js';
import type { PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { explanationToText } from './explanation-text.js';

const pool = (host: string, name = 'main', id = '5f0c'): PoolExplanation => ({
  ...{ provider: 'rack', pool: name, launcherId: `${host}-PoolWorker.rack-${name}-${id}`, own: true },
  ...{ action: 'wait', rule: 'label-quota', text: 'none is free', remedy: 'wait', details: {} },
  ...{ position: 0, blockers: [] },
});

function ofPools(...pools: PoolExplanation[]): RequestExplanation {
  return {
    ...{ requestId: '200-0000000001', state: 'requested', labels: ['a'], requestor: null, tenant: null, nodes: [] },
    ...{ ageMs: 0, launchError: null, pools, launches: [] },
  };
}

it('names a pool once, with the launchers that have it apart', () => {
  const other = { ...pool('nl03.example.com'), action: 'foreign', rule: undefined, text: 'seen from outside' } as const;

  const lines = explanationToText(
    ofPools(pool('nl01.example.com'), pool('nl02.example.com'), other, pool('nl01.example.com', 'spare')),
    [],
    0,
  );

  expect(lines.split('\n').filter((line) => /^pool |same for|nl03/.test(line))).toEqual([
    'pool "rack/main" of launcher nl01.example.com keeps it waiting (label-quota)',
    '  same for   nl02.example.com',
    '  nl03.example.com may take it: seen from outside',
    'pool "rack/spare" keeps it waiting (label-quota)',
  ]);
});

it('tells launchers of one host apart by their ids', () => {
  const [first, second] = [pool('vm', 'main', '5f0c63b1aa'), pool('vm', 'main', 'a4e98d207c')];
  const other = { ...pool('vm', 'main', 'c00c5b3e11'), text: 'all are in use' };

  const lines = explanationToText(ofPools(first, second, pool('nl01'), other), [], 0);

  expect(lines.split('\n').filter((line) => /^pool |same for|vm/.test(line))).toEqual([
    'pool "rack/main" of launcher vm (5f0c63b1) keeps it waiting (label-quota)',
    '  same for   vm (a4e98d20), nl01',
    '  vm (c00c5b3e) keeps it waiting (label-quota): all are in use',
  ]);
});

describe('a pool that would take a request, beside conditions', () => {
  const accepts = { ...pool('nl01'), action: 'accept', rule: 'accept', text: 'it can be served now' } as const;
  const wrong = (kind: Condition['kind'], name: string, type: string, evidence = {}): Condition => ({
    ...{ kind, name, type, status: 'true', severity: 'error', reason: 'Unauthorized', message: '401', evidence },
    ...{ nextStep: 'correct the password', sinceMs: 0, lastSeenMs: 0 },
  });
  const linesOf = (...conditions: Condition[]) =>
    explanationToText(ofPools(accepts), conditions, 0).split('\n').slice(4);

  it.each([
    ['its label is not served', wrong('label', 'a', 'NotServed'), 'cannot serve it now'],
    ['its provider is not started', wrong('provider', 'rack', 'NotStarted'), 'cannot serve it now'],
    ['launches fail', wrong('provider', 'rack', 'LaunchesFail'), 'takes it only with the nodes that it has'],
  ])('does not claim to take it when %s, and shows what is wrong', (_when, condition, verdict) => {
    expect(linesOf(condition)).toEqual([
      ...['', `pool "rack/main" ${verdict} (accept)`, '  why        401', '  position   first in the queue'],
      ...['  to change  correct the password', '', 'What is wrong'],
      ...[`  error: ${condition.kind} "${condition.name}": 401`, '    correct the password'],
    ]);
  });

  it('takes it when the conditions concern other subjects; host conditions are blockers', () => {
    const label = wrong('label', 'rack/spare/a', 'LabelUnusable', { provider: 'rack', pool: 'spare', label: 'a' });
    const host = wrong('host', 'rack/zuul@h1:22', 'HostUnusable', { provider: 'rack', pool: 'main', labels: 'a' });

    expect(linesOf(label, host)[1]).toBe('pool "rack/main" takes it (accept)');
    expect(linesOf(label, host)).not.toContain('What is wrong');
  });
});

it('says why so many standby nodes are kept, or who decides', () => {
  const standby = { label: 'big', nodes: 7, ready: 5, reason: 'much demand; boots are slow', isFallback: false };
  const text = (decides: boolean) =>
    explanationToText({ ...ofPools(pool('a')), freeNodes: [{ ...standby, decides }] }, [], 0);

  expect(text(true)).toContain('\n\nstandby nodes of "big": 7 to keep, 5 standing by\n  much demand\n  boots are slow');
  expect(text(false)).toContain(
    '\nstandby nodes of "big": 7 to keep, 5 standing by; the launcher with the longest registered pool of the label decides',
  );
});
