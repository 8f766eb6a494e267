import { newNode, newPoolComponent, type LauncherId, type NodeId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { SharedCondition } from '../conditions/merge-conditions.js';
import { labelSupplyListing, supplyOfLabels } from './label-supply.js';

function condition(fields: Pick<SharedCondition, 'kind' | 'name' | 'type' | 'message'>): SharedCondition {
  const rest = { status: 'true', severity: 'error', reason: 'Error', nextStep: '' } as const;
  return { ...rest, evidence: {}, sinceMs: 0, lastSeenMs: 0, services: [], ...fields };
}

const stuck = condition({
  kind: 'node',
  name: '0000000007',
  type: 'DeletionFails',
  message: 'its deletion has failed',
});
const notServed = condition({ kind: 'label', name: 'big', type: 'NotServed', message: 'no pool can serve it now' });
const node = { ...newNode({ state: 'deleting', labels: ['big', 'small'] }, 0), id: '0000000007' as NodeId };

it('shows the conditions of a label before those of its nodes', () => {
  const nodes = [{ node, locked: true }];
  const supply = supplyOfLabels({ pools: [], nodes, requests: [], conditions: [notServed, stuck] });

  expect(supply.map((row) => [row.label, labelSupplyListing.at(-1)?.value(row, 0)])).toEqual([
    ['big', 'no pool can serve it now'],
    ['small', 'node 0000000007: its deletion has failed'],
  ]);
});

it('omits conditions of deleted nodes', () => {
  expect(supplyOfLabels({ pools: [], nodes: [], requests: [], conditions: [stuck] })).toEqual([]);
});

it('shows an error of a provider at the labels that only such providers have', () => {
  const pool = (providerName: string, supportedLabels: readonly string[]) =>
    newPoolComponent({
      ...{ providerName, name: 'main', supportedLabels, hostname: 'nl01', version: '1' },
      launcherId: providerName as LauncherId,
    });
  const refused = condition({ kind: 'provider', name: 'west', type: 'LoginRefused', message: 'answered with 401' });
  const warning: SharedCondition = { ...refused, severity: 'warning', name: 'east', message: 'answers slowly' };
  const pools = [pool('west', ['big', 'small']), pool('east', ['small'])];

  const supply = supplyOfLabels({ pools, nodes: [], requests: [], conditions: [refused, warning] });

  expect(supply.map((row) => [row.label, labelSupplyListing.at(-1)?.value(row, 0)])).toEqual([
    ['big', 'provider west: answered with 401'],
    ['small', null],
  ]);
});

it('names the cause first in a table: that of the provider of a label that is not served for it', () => {
  const refused = condition({ kind: 'provider', name: 'west', type: 'LoginRefused', message: 'answered with 401' });
  const unserved = { ...notServed, reason: 'ProviderFails', evidence: { onlyProvider: 'west' } };
  const fields = { providerName: 'west', name: 'main', supportedLabels: ['big'], hostname: 'nl01', version: '1' };
  const pools = [newPoolComponent({ ...fields, launcherId: 'west' as LauncherId })];
  const cellOf = (...conditions: SharedCondition[]) =>
    labelSupplyListing.at(-1)?.cell?.(supplyOfLabels({ pools, nodes: [], requests: [], conditions })[0] as never, 0);

  expect(cellOf()).toBeNull();
  expect(cellOf({ ...notServed, reason: 'Quota' })).toBe('Quota: no pool can serve it now');
  expect(cellOf(unserved, refused)).toBe('LoginRefused: provider west: answered with 401');
});

it('counts a leased node as in use, and one that an operator holds as held', () => {
  const held = { ...node, state: 'hold', labels: ['big'] };
  const nodes = [held, { ...held, userData: { lease: '0000000001' } }].map((each) => ({ node: each, locked: false }));

  expect(supplyOfLabels({ pools: [], nodes, requests: [], conditions: [] })).toMatchObject([{ inUse: 1, held: 1 }]);
});
