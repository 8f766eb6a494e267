import { compareRequests, type RequestRecord } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import { sumResources } from '../../contract/resources.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Reservation } from '../plan/types.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { Mirror } from '../state/mirror.js';

const ONE_INSTANCE = Object.freeze({ instances: 1 });

/** A request that another launcher has partly served from a provider, with its missing labels. */
export interface WaitElsewhere {
  readonly request: RequestRecord;
  readonly missing: readonly string[];
  /** It has nodes of the given pool. */
  readonly isInPool: boolean;
}

/** Requests that another launcher has partly served from the provider. */
export function* waitsElsewhere(
  mirror: Mirror,
  ledger: Ledger,
  provider: string,
  pool: string,
): Generator<WaitElsewhere> {
  for (const id of mirror.pendingRequests()) {
    const held = mirror.allocatedTo(id);
    const request = mirror.requests.get(id);
    if (!request || held.size === 0 || held.size >= request.labels.length || ledger.has(id)) continue;
    const missing = [...request.labels];
    let isHere = false;
    let isInPool = false;
    for (const nodeId of held) {
      const node = mirror.nodes.get(nodeId);
      isHere ||= node?.provider === provider;
      isInPool ||= node?.provider === provider && node.pool === pool;
      const index = missing.indexOf(node?.labels[0] ?? '');
      if (index >= 0) missing.splice(index, 1);
    }
    if (isHere) yield { request, missing, isInPool };
  }
}

/** What those requests need, seen from a pool. Another pool of the provider may get the missing nodes, and knows their need. */
export function* reservationsElsewhere(
  mirror: Mirror,
  ledger: Ledger,
  runner: ProviderRunner,
  own: PoolConfig,
): Generator<Reservation> {
  for (const { request, missing, isInPool } of waitsElsewhere(mirror, ledger, runner.name, own.name)) {
    const others = [...runner.config.pools.values()].filter(({ name }) => name !== own.name);
    const pools = isInPool ? [own, ...others] : [...others, own];
    const needs = missing.map((label) => {
      const pool = pools.find(({ labels }) => labels.has(label));
      return pool ? runner.needOf(label, pool) : ONE_INSTANCE;
    });
    yield { request, need: sumResources(needs), isInPool };
  }
}

/**
 * Whether a request ahead of this one may be waiting for the capacity that it holds.
 * @param waiting - requests known to wait for capacity of the provider
 */
export function blocksOthers(
  mirror: Mirror,
  request: RequestRecord,
  waiting: readonly Pick<Reservation, 'request'>[],
): boolean {
  if (waiting.some((other) => compareRequests(other.request, request) < 0)) return true;
  for (const id of mirror.pendingRequests()) {
    const other = mirror.requests.get(id);
    if (!other || compareRequests(other, request) >= 0) continue;
    const held = mirror.allocatedTo(id).size;
    if (held > 0 && held < other.labels.length) return true;
  }
  return false;
}
