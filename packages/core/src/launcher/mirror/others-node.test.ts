import { newNode, type NodeFields } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../contract/config.js';
import { isOthersNode, leavesNewRecords } from './others-node.js';

/** A launcher that has provider `ours`, and another one that drains. */
function launcher({
  minReady = 0,
  tenantLimits = 0,
  buildOnNodes = false,
  limitsLabels = false,
  sharesProviders = false,
  haveNodesOfTheirOwn = false,
} = {}) {
  const config = {
    providers: new Map([['ours', {}]]),
    labels: new Map([['a', { minReady }]]),
    tenantLimits: new Map(Array.from({ length: tenantLimits }, (_, i) => [`tenant-${i}`, {}])),
  } as unknown as Config;
  return {
    inForce: { config: () => config },
    providers: {
      runnerOf: ({ provider }: NodeFields) => (provider === 'draining' ? {} : undefined),
      ...{ buildOnNodes, haveNodesOfTheirOwn },
    },
    controls: { limitsLabels },
    shared: { sharesProviders },
  };
}

const node = (fields: NodeFields = {}) =>
  newNode({ state: 'in-use', labels: ['a'], provider: 'theirs', pool: 'main', ...fields }, 0);

describe('a node', () => {
  it('of a provider that only others have is theirs', () => {
    expect(isOthersNode(node(), launcher())).toBe(true);
    expect(isOthersNode(node({ state: 'ready', allocatedTo: '200-0000000001' as never }), launcher())).toBe(true);
  });

  it.each(['ours', 'draining', null])('of provider %s is not', (provider) => {
    expect(isOthersNode(node({ provider }), launcher())).toBe(false);
  });

  it('that is free is not: pools with free nodes come first', () => {
    expect(isOthersNode(node({ state: 'ready' }), launcher())).toBe(false);
  });

  it.each([
    ['its label is kept on standby here', { minReady: 1 }],
    ['tenants have limits', { tenantLimits: 1 }],
    ['slots are made of machines of others', { buildOnNodes: true }],
    ['an operator limits a label', { limitsLabels: true }],
  ])('is not when %s', (_, around) => {
    expect(isOthersNode(node(), launcher(around))).toBe(false);
  });
});

describe('new records of others', () => {
  it('are left unread', () => {
    expect(leavesNewRecords(launcher())).toBe(true);
  });

  it.each([
    ['another launcher has a provider of this one', { sharesProviders: true }],
    ['a provider of this one has static nodes', { haveNodesOfTheirOwn: true }],
    ['nodes are kept on standby', { minReady: 1 }],
    ['tenants have limits', { tenantLimits: 1 }],
    ['slots are made of machines of others', { buildOnNodes: true }],
    ['an operator limits a label', { limitsLabels: true }],
  ])('are read at once when %s', (_, around) => {
    expect(leavesNewRecords(launcher(around))).toBe(false);
  });
});
