import type { NodeEntry, RequestEntry } from '@nodepool/core/testing';
import { Violation } from './violation.js';
import type { World } from './world.js';

const REQUESTOR = 'NodePool:min-ready';
/** States of a node that is or becomes standby. */
const COUNTED: ReadonlySet<string> = new Set(['init', 'building', 'ready']);

/**
 * Checks that there are never more standby nodes of a label than `min-ready`, and never more than one probe of a provider for
 * a label, over all launchers. For worlds in which neither `min-ready` nor requests change.
 */
export function checkStandby(world: World, minReadyOf: (label: string) => number): void {
  world.checker.watch((before, { labels, state }, who) => {
    if (before?.state === state) return;
    for (const label of labels) {
      const counts = countStandby(world, label);
      demand(world, counts.standby, minReadyOf(label), `${who}: standby nodes of ${label}`);
      for (const [provider, count] of counts.probes)
        demand(world, count, 1, `${who}: probes of ${provider} for ${label}`);
    }
  });
}

function countStandby({ checker }: World, label: string): { standby: number; probes: Map<string, number> } {
  const probes = new Map<string, number>();
  let standby = 0;
  for (const node of checker.nodes.values()) {
    if (!node.labels.includes(label) || !COUNTED.has(node.state) || node.body['requestor'] !== REQUESTOR) continue;
    const request = node.allocatedTo === null ? undefined : checker.requests.get(node.allocatedTo);
    if (node.allocatedTo === null || (request && isIdle(request))) standby++;
    else if (request && isProbe(request)) probes.set(providerOf(node), (probes.get(providerOf(node)) ?? 0) + 1);
  }
  return { standby, probes };
}

function isIdle({ body }: RequestEntry): boolean {
  return body['requestor'] === REQUESTOR && typeof body['provider'] !== 'string';
}

function isProbe({ body }: RequestEntry): boolean {
  return body['requestor'] === REQUESTOR && typeof body['provider'] === 'string';
}

function providerOf({ body: { provider } }: NodeEntry): string {
  return typeof provider === 'string' ? provider : '';
}

function demand(world: World, count: number, most: number, what: string): void {
  if (count > most) world.violate(new Violation(`${what}: ${count}, of at most ${most}`));
}
