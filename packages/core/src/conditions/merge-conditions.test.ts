import { describe, expect, it } from 'vitest';
import { newComponent, withComponent } from '@nodepool/zk-protocol';
import type { Condition } from '../contract/condition.js';
import { conditionToJson } from './condition-json.js';
import { asUnknown, concerns, mergeConditions, publishedConditions } from './merge-conditions.js';

const condition = (changes: Partial<Condition> = {}): Condition => ({
  ...{ kind: 'provider', name: 'sky', type: 'LaunchesFail', severity: 'error', reason: 'Unauthorized', evidence: {} },
  ...{ message: '401', nextStep: 'log in' },
  ...{ status: 'true', sinceMs: 1_000, lastSeenMs: 2_000 },
  ...changes,
});

describe('mergeConditions', () => {
  it('has a condition of several services once, as reported last', () => {
    const merged = mergeConditions([
      { service: 'launcher nl01', conditions: [condition({ lastSeenMs: 9_000, sinceMs: 5_000, message: 'newer' })] },
      { service: 'launcher nl02', conditions: [condition(), condition({ name: 'rain', severity: 'warning' })] },
    ]);

    expect(merged).toMatchObject([
      {
        name: 'sky',
        message: 'newer',
        sinceMs: 1_000,
        lastSeenMs: 9_000,
        services: ['launcher nl01', 'launcher nl02'],
      },
      { name: 'rain', services: ['launcher nl02'] },
    ]);
  });

  it('believes a service that answers rather than one that does not', () => {
    const silent = asUnknown({ service: 'launcher nl01', conditions: [condition({ lastSeenMs: 9_000 })] });
    const answering = { service: 'launcher nl02', conditions: [condition({ message: 'mine' })] };

    expect(mergeConditions([silent])).toMatchObject([{ status: 'unknown' }]);
    expect(mergeConditions([silent, answering])).toMatchObject([{ status: 'true', message: 'mine' }]);
    expect(mergeConditions([answering, silent])).toMatchObject([{ status: 'true', message: 'mine' }]);
  });

  it('reads published conditions and omits malformed ones', () => {
    const entry = newComponent({ kind: 'launcher', hostname: 'nl01', state: 'running', version: '1' });
    const published = withComponent(entry, { conditions: [conditionToJson(condition()), { name: 'odd' }] });

    expect(publishedConditions(published)).toEqual({ service: 'launcher nl01', conditions: [condition()] });
  });
});

describe('concerns', () => {
  const ofLabel = condition({ kind: 'label', name: 'sky/big', evidence: { label: 'big', provider: 'sky' } });

  it.each([
    [condition(), { providers: ['sky'] }, true],
    [condition(), { providers: ['rain'], labels: ['big'] }, false],
    [condition({ kind: 'label', name: 'big' }), { labels: ['big'] }, true],
    [condition({ kind: 'pool', name: 'sky/main', evidence: {} }), { pools: ['sky/main'] }, true],
    [ofLabel, { providers: ['sky'], labels: ['big'] }, true],
    [ofLabel, { providers: ['rain'], labels: ['big'] }, false],
    [ofLabel, { labels: ['big'] }, true],
    [condition({ kind: 'zookeeper', name: '' }), { labels: ['big'] }, false],
  ])('%# tells what matters for a subject', (each, subjects, expected) => {
    expect(concerns(each, subjects)).toBe(expected);
  });
});
