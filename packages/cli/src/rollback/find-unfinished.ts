import { firstOf } from '@nodepool/core/service';
import { controlId, isPoolComponent, isStoppedSpare, LEASE_REQUESTOR } from '@nodepool/zk-protocol';
import type {
  ControlRecord,
  LeaseRecord,
  NodeRecord,
  PoolComponentRecord,
  RequestRecord,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { fetchControls } from '../connection/fetch-controls.js';
import { fetchComponents, fetchNodeRows, fetchRequests } from '../connection/fetch-records.js';
import { fetchOpenLeases } from '../token/end-leases.js';

/** What launchers of this project have begun, and those of the original would not finish. */
export interface Unfinished {
  /** Stopped spares: the original neither lends nor deletes them. */
  readonly spares: readonly NodeRecord[];
  readonly waiting: readonly LeaseRecord[];
  readonly active: readonly LeaseRecord[];
  /** Requests of leases: without a launcher that lends, no client takes their nodes. */
  readonly requests: readonly RequestRecord[];
  /** Orders of operators, which the original does not obey. */
  readonly orders: readonly ControlRecord[];
  /** Nodes that a launcher of this project is making. */
  readonly launches: readonly NodeRecord[];
  /** Registered pools of this project, and those of the original. */
  readonly ours: readonly PoolComponentRecord[];
  readonly others: readonly PoolComponentRecord[];
}

const BEING_MADE: ReadonlySet<string> = new Set(['init', 'building']);

/** Reads what is unfinished. @param owner - gives orders that do not count */
export async function findUnfinished(context: CliContext, zk: ZooKeeper, owner: string): Promise<Unfinished> {
  const source = { ...context, zk };
  const [rows, requests, controls, components, leases] = await Promise.all([
    fetchNodeRows(source),
    fetchRequests(source),
    fetchControls(source),
    fetchComponents(source, 'pool'),
    fetchOpenLeases(zk, () => true),
  ]);
  const nodes = rows.map(({ node }) => node);
  const pools = components.filter(isPoolComponent);
  const ours = pools.filter(({ firstPoolPauseMs }) => (firstPoolPauseMs ?? null) !== null);
  const ids = new Set<string | null>(ours.map(({ launcherId }) => launcherId));
  return {
    ours,
    others: pools.filter((pool) => !ours.includes(pool)),
    spares: nodes.filter(isStoppedSpare),
    launches: nodes.filter(({ state, launcher }) => BEING_MADE.has(state) && ids.has(launcher)),
    requests: requests.filter(({ requestor }) => requestor === LEASE_REQUESTOR),
    waiting: leases.filter(({ state }) => state === 'waiting'),
    active: leases.filter(({ state }) => state === 'active'),
    orders: controls.filter((order) => order.owner !== owner),
  };
}

/** What was there before already: what comes while launchers run is ended within a round, and need not be waited for. */
export function lasting(found: Unfinished, before: Unfinished): Unfinished {
  const known = new Set<string>(
    [before.spares, before.launches, before.requests, leasesOf(before)].flat().map(({ id }) => id),
  );
  const orders = new Set(before.orders.map(controlId));
  const isKnown = ({ id }: { readonly id: string }) => known.has(id);
  return {
    ...found,
    ...{ spares: found.spares.filter(isKnown), launches: found.launches.filter(isKnown) },
    ...{ waiting: found.waiting.filter(isKnown), active: found.active.filter(isKnown) },
    ...{
      requests: found.requests.filter(isKnown),
      orders: found.orders.filter((order) => orders.has(controlId(order))),
    },
  };
}

const leasesOf = ({ waiting, active }: Unfinished) => [...waiting, ...active];

const MOST_NAMED = 5;

/** One line for each kind of what is unfinished. */
export function describeUnfinished(found: Unfinished): string[] {
  const { spares, waiting, active, requests, orders, launches } = found;
  const lines: [what: string, names: readonly string[]][] = [
    ['stopped spares', spares.map(({ id }) => id)],
    ['waiting leases', waiting.map(({ id, owner }) => `${id} of ${owner}`)],
    ['active leases', active.map(({ id, owner, dueTimeMs }) => `${id} of ${owner}${until(dueTimeMs)}`)],
    ['requests of leases', requests.map(({ id }) => id)],
    ['orders', orders.map(({ kind, name, mode }) => `${kind} ${name} (${mode})`)],
    ['launches in progress', launches.map(({ id, state }) => `${id} (${state})`)],
  ];
  return lines.flatMap(([what, names]) =>
    names.length > 0 ? [`${what}: ${names.length} (${firstOf(names, MOST_NAMED)})`] : [],
  );
}

const until = (ms: number | null) => (ms === null ? '' : ` until ${new Date(ms).toISOString()}`);

/** Labels that no pool of the original has, so that requests for them fail when the last launcher of this project is gone. */
export function lostLabels({ ours, others }: Unfinished): string[] {
  const kept = new Set(others.flatMap(({ supportedLabels }) => supportedLabels));
  return [...new Set(ours.flatMap(({ supportedLabels }) => supportedLabels))].filter((label) => !kept.has(label));
}

/** Hosts of the launchers of this project. */
export function hostsOf({ ours }: Pick<Unfinished, 'ours'>): string {
  return [...new Set(ours.map(({ hostname }) => hostname))].sort().join(', ');
}
