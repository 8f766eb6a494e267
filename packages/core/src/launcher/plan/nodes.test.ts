import { newNode, type NodeId, type NodeRecord, type RequestState } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ageLimitOf, judgeNode, launchesLabel, NEVER_LOCKED_MS, type NodeFacts } from './nodes.js';

const NOW_MS = 10_000_000;

function node(changes: Partial<NodeRecord>): NodeRecord {
  const base = newNode({ state: 'ready', labels: ['small'], provider: 'cloud', pool: 'main' }, NOW_MS);
  return { ...base, id: '0000000001' as NodeId, ...changes };
}

/** Unlocked, without a request, of a provider that this launcher has. */
function facts(changes: Partial<NodeFacts> = {}): NodeFacts {
  return {
    ...{ request: undefined, isRequestLocked: false, unwantedForMs: 0, hasLauncherLeft: false },
    ...{ isOurs: true, isUnfinished: false, ...changes },
  };
}

const withRequest = (state: RequestState) => facts({ request: { state } });
const allocatedTo = '200-0000000001' as NodeRecord['allocatedTo'];

describe('judgeNode', () => {
  it.each(['used', 'in-use', 'building', 'failed', 'aborted', 'deleting', 'deleted'])(
    'deletes an unlocked node in state %s',
    (state) => {
      expect(judgeNode(node({ state }), facts())).toBe('delete');
    },
  );

  it.each(['ready', 'hold', 'init', 'testing', 'unheard-of'])('keeps a node in state %s', (state) => {
    expect(judgeNode(node({ state }), facts())).toBe('keep');
  });

  it('keeps nodes of providers that other launchers have', () => {
    expect(judgeNode(node({ state: 'used' }), facts({ isOurs: false }))).toBe('keep');
  });

  it('deletes a record without a provider only once it is marked as deleted', () => {
    const foreign = facts({ isOurs: false });

    expect(judgeNode(node({ state: 'used', provider: null }), foreign)).toBe('keep');
    expect(judgeNode(node({ state: 'deleted', provider: null }), foreign)).toBe('delete');
  });

  it.each([
    ['pending', 'keep'],
    ['requested', 'delete'],
    ['failed', 'delete'],
    ['fulfilled', 'delete'],
  ] as const)('leaves a node that can be finished to its request; when that is %s: %s', (state, verdict) => {
    const building = node({ state: 'building', allocatedTo });

    expect(judgeNode(building, { ...withRequest(state), isUnfinished: true })).toBe(verdict);
    expect(judgeNode(building, withRequest(state))).toBe('delete');
    expect(judgeNode({ ...building, allocatedTo: null }, facts({ isUnfinished: true }))).toBe('delete');
  });

  it('deletes such a node if the process that has locked its request has left it out, unless it is about to lock the record', () => {
    const building = node({ state: 'building', allocatedTo });
    const locked = { ...withRequest('pending'), isRequestLocked: true, isUnfinished: true };

    expect(judgeNode(building, locked)).toBe('delete');
    expect(judgeNode({ ...building, state: 'init' }, locked)).toBe('keep');
  });

  it('gives a ready node free whose request is gone, waits again, or has failed', () => {
    const kept = node({ allocatedTo });

    expect(judgeNode(kept, facts())).toBe('deallocate');
    expect(judgeNode(kept, withRequest('requested'))).toBe('deallocate');
    expect(judgeNode(kept, withRequest('failed'))).toBe('deallocate');
    expect(judgeNode(kept, withRequest('pending'))).toBe('keep');
    expect(judgeNode(kept, withRequest('fulfilled'))).toBe('keep');
  });

  it('deletes a record that was never locked, at once when its launcher has left', () => {
    const young = node({ state: 'init', allocatedTo });
    const unwantedForMs = NEVER_LOCKED_MS + 1;

    expect(judgeNode(young, facts())).toBe('keep');
    expect(judgeNode(young, facts({ hasLauncherLeft: true }))).toBe('delete');
    expect(judgeNode(young, facts({ unwantedForMs }))).toBe('delete');
    expect(judgeNode(young, facts({ unwantedForMs, request: { state: 'pending' } }))).toBe('keep');
  });
});

describe('ageLimitOf', () => {
  const limits = {
    maxHoldAgeMs: 5_000,
    labels: new Map([
      ['small', { name: 'small', minReady: 0, maxReadyAgeMs: 3_000 }],
      ['big', { name: 'big', minReady: 0, maxReadyAgeMs: 2_000 }],
      ['endless', { name: 'endless', minReady: 0, maxReadyAgeMs: 0 }],
    ]),
  };

  it('is the shortest max-ready-age of a free node', () => {
    expect(ageLimitOf(node({ labels: ['small', 'endless', 'big'] }), limits)).toEqual({
      key: 'max-ready-age',
      ms: 2_000,
    });
    expect(ageLimitOf(node({ labels: ['endless', 'unknown'] }), limits)).toBeUndefined();
    expect(ageLimitOf(node({ allocatedTo }), limits)).toBeUndefined();
  });

  it('is max-hold-age or the expiration of a held node, whichever is shorter', () => {
    const held = (holdExpirationMs: number | null) => node({ state: 'hold', holdExpirationMs });

    expect(ageLimitOf(held(null), limits)).toEqual({ key: 'max-hold-age', ms: 5_000 });
    expect(ageLimitOf(held(0), limits)).toEqual({ key: 'max-hold-age', ms: 5_000 });
    expect(ageLimitOf(held(1_000), limits)).toEqual({ key: 'hold_expiration', ms: 1_000 });
    expect(ageLimitOf(held(9_000), limits)).toEqual({ key: 'max-hold-age', ms: 5_000 });
    expect(ageLimitOf(held(null), { ...limits, maxHoldAgeMs: 0 })).toBeUndefined();
  });

  it('does not exist in other states', () => {
    expect(ageLimitOf(node({ state: 'in-use' }), limits)).toBeUndefined();
  });
});

describe('standby nodes', () => {
  it('come from pools that launch the label and may', () => {
    const pool = poolConfig('main', ['small']);
    const view = { launches: true, maxConcurrency: -1, pool };

    expect(launchesLabel(view, 'small')).toBe(true);
    expect(launchesLabel(view, 'big')).toBe(false);
    expect(launchesLabel({ ...view, launches: false }, 'small')).toBe(false);
    expect(launchesLabel({ ...view, maxConcurrency: 0 }, 'small')).toBe(false);
    expect(launchesLabel({ ...view, pool: { ...pool, maxServers: 0 } }, 'small')).toBe(false);
  });
});
