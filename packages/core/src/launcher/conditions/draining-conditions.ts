import type { NodeRecord } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import { shellWord } from '../../text/shell-word.js';
import type { Serving } from './serving.js';
import { firstOf } from '../../text/first-of.js';

/** Conditions of providers that no launcher has any more. */
export const CONDITIONS = {
  Draining: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'a provider left the configuration and still has nodes; the launcher deletes free nodes within about two minutes, and all others after use',
    reasons: { LeftConfiguration: 'its entry was removed' },
    nextStep: 'end the holds and jobs on its nodes, or wait; do not erase it, and do not stop the launcher',
  },
  NodesWithoutProvider: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'ZooKeeper has nodes of a provider that no launcher has, so they are never deleted',
    reasons: { UnknownProvider: 'no launcher has the provider, and none drains it' },
    nextStep: 'restore the entry of the provider until its nodes are gone',
  },
} as const satisfies ConditionTypes;

/** Nodes named in one message. */
const MOST_NAMED = 10;

/** Providers that left the configuration and still have nodes, and those with nodes that no launcher has. */
export function leftProviders(serving: Serving): FoundCondition[] {
  const { context, providers } = serving;
  const all = [...context.mirror.nodes.values()];
  const nodesOf = (name: string) => all.filter(({ provider }) => provider === name);
  const known = knownProviders(serving);
  const unknown = new Set(all.flatMap(({ provider }) => (provider === null || known.has(provider) ? [] : provider)));
  return [
    ...providers.draining.map(({ provider, sinceMs }) => drained(provider, nodesOf(provider), sinceMs)),
    ...[...unknown].map((name) => orphaned(name, nodesOf(name))),
  ];
}

/** Providers that a launcher has or drains. */
function knownProviders({ context, providers, registry, others }: Serving): ReadonlySet<string> {
  const config = context.config.now;
  const ofOthers = others.ofOthers.flatMap(({ conditions }) => conditions.filter(({ type }) => type === 'Draining'));
  return new Set([
    ...config.providers.keys(),
    ...(config.unserved?.keys() ?? []),
    ...registry.pools.map(({ providerName }) => providerName),
    ...providers.draining.map(({ provider }) => provider),
    ...ofOthers.map(({ name }) => name),
  ]);
}

function drained(name: string, nodes: readonly NodeRecord[], sinceMs: number): FoundCondition {
  return newCondition(CONDITIONS, 'Draining', {
    ...{ name, reason: 'LeftConfiguration', nextStep: drainStep(nodes), sinceMs, evidence: { nodes: nodes.length } },
    message: `it left the configuration and is drained; ${describeNodes(nodes)} left`,
  });
}

function drainStep(nodes: readonly NodeRecord[]): string {
  const held = nodes.filter(({ state }) => state === 'hold').map(({ id }) => id);
  if (held.length > 0)
    return `end the hold with nodepool delete ${held[0] ?? ''} when it is no longer needed; leave the launcher running`;
  return 'wait until its nodes are gone, and leave the launcher running until then';
}

function orphaned(name: string, nodes: readonly NodeRecord[]): FoundCondition {
  return newCondition(CONDITIONS, 'NodesWithoutProvider', {
    ...{ name, reason: 'UnknownProvider', evidence: { nodes: nodes.length } },
    message: `no launcher has it, and ZooKeeper has ${describeNodes(nodes)} of it`,
    nextStep: `put the entry of provider "${name}" back until its nodes are gone; nodepool info ${shellWord(name)}`,
  });
}

/** Nodes with their states, e.g. `2 nodes (0000000001 in-use, 0000000002 hold)`. */
function describeNodes(nodes: readonly NodeRecord[]): string {
  const count = `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`;
  const names = nodes.map(({ id, state }) => `${id} ${state}`);
  return nodes.length === 0 ? count : `${count} (${firstOf(names, MOST_NAMED)})`;
}
