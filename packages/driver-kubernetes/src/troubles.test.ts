import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { toInstance } from './instance.js';
import { Troubles } from './troubles.js';

const clock = new VirtualClock();
const error = new Error('watch of pods: no answer');
const problem = { reason: 'ErrImagePull', message: 'not found', fails: 'now', error } as const;

describe('what is wrong in a cluster', () => {
  it('is nothing at first', () => {
    expect(new Troubles('cluster', clock).conditions({}, [])).toEqual([]);
  });

  it('names the label whose pods do not start, until one does', () => {
    const troubles = new Troubles('cluster', clock);
    troubles.pod('main', 'small', problem);

    expect(troubles.conditions({}, [])).toMatchObject([
      {
        ...{ kind: 'label', name: 'cluster/main/small', type: 'PodsNotStarting', reason: 'Image' },
        ...{ message: 'ErrImagePull: not found', evidence: { reason: 'ErrImagePull' } },
      },
    ]);
    troubles.pod('main', 'small', undefined);
    expect(troubles.conditions({}, [])).toEqual([]);
  });

  it('forgets a problem that is not seen again', async () => {
    const troubles = new Troubles('cluster', clock);
    troubles.pod('main', 'small', problem);

    await clock.advance(600_001);

    expect(troubles.conditions({}, [])).toEqual([]);
  });

  it.each([-3_600_000, 3_600_000])('forgets it at its time when the clock is set by %i ms', async (byMs) => {
    const own = new VirtualClock();
    const troubles = new Troubles('cluster', own);
    troubles.pod('main', 'small', problem);

    own.set(own.now() + byMs);
    await own.advance(599_000);
    const before = troubles.conditions({}, []);
    await own.advance(2_000);

    expect([before.length, troubles.conditions({}, [])]).toEqual([1, []]);
  });

  it('names the finalizers that hold a namespace', () => {
    const troubles = new Troubles('cluster', clock);
    const conditions = [
      { type: 'NamespaceFinalizersRemaining', status: 'True', message: 'example.com/hold in 1 resource instances.' },
      { type: 'NamespaceContentRemaining', status: 'False', message: 'nothing' },
    ];
    const metadata = { name: 'main-1', finalizers: ['example.com/own'] };
    troubles.deletion('main-1', toInstance('main-1', { metadata, status: { conditions } }, undefined));

    expect(troubles.conditions({}, [])).toMatchObject([
      {
        ...{ kind: 'provider', name: 'cluster', type: 'DeletionsHang', reason: 'Finalizers' },
        message: '"main-1" is not gone: example.com/hold in 1 resource instances. finalizers example.com/own',
      },
    ]);
    troubles.deletion('main-1', undefined);
    expect(troubles.conditions({}, [])).toEqual([]);
  });

  it('leads to the API that keeps a namespace from being deleted', () => {
    const troubles = new Troubles('cluster', clock);
    const conditions = [
      { type: 'NamespaceContentRemaining', status: 'True', message: 'pods. has 1 resource instances' },
      { type: 'NamespaceDeletionDiscoveryFailure', status: 'True', message: 'metrics.k8s.io/v1beta1: stale' },
    ];
    const metadata = { name: 'main-1' };
    troubles.deletion('main-1', toInstance('main-1', { metadata, status: { conditions } }, undefined));

    const [condition] = troubles.conditions({}, []);

    expect(condition?.message).toContain('NamespaceDeletionDiscoveryFailure (kubectl get apiservices): metrics.k8s.io');
    expect(condition?.nextStep).toMatch(/^kubectl get apiservices; repair or delete/);
  });

  it('has refused and ending logins, broken watches and shortened tokens', () => {
    const troubles = new Troubles('cluster', clock);
    troubles.token('tokens are valid for 3600 s');
    const times = { sinceMs: 1, lastSeenMs: 2 };
    const refusal = { reason: 'Unauthorized', message: '401', ...times } as const;
    const ending = { reason: 'Short', message: 'program "a" ...', nextStep: 'b', ...times } as const;

    const found = troubles.conditions({ refusal, ending }, [
      { error, ...times },
      { error, ...times },
    ]);

    expect(found.map(({ type, reason, message }) => [type, reason, message])).toEqual([
      ['LoginRefused', 'Unauthorized', '401'],
      ['LoginEnds', 'Short', 'program "a" ...'],
      ['WatchFails', 'WatchFails', 'watch of pods: no answer'],
      ['TokensShortened', 'Shortened', 'tokens are valid for 3600 s'],
    ]);
  });
});
