import { firstOf, isInService, readyBuilds } from '@nodepool/core/service';
import { controlId, isFree, isPoolComponent, isParked, LEASE_REQUESTOR, mapOf } from '@nodepool/zk-protocol';
import type {
  ControlRecord,
  ImageEntry,
  Json,
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
  /** Free and held nodes of clusters whose token ends: the original neither replaces nor renews them. */
  readonly ending: readonly NodeRecord[];
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
    spares: nodes.filter(isParked),
    ending: nodes.filter((node) => (isFree(node) || node.state === 'hold') && hasTokenThatEnds(node)),
    launches: nodes.filter(({ state, launcher }) => BEING_MADE.has(state) && ids.has(launcher)),
    requests: requests.filter(({ requestor }) => requestor === LEASE_REQUESTOR),
    waiting: leases.filter(({ state }) => state === 'waiting'),
    active: leases.filter(({ state }) => state === 'active'),
    orders: controls.filter((order) => order.owner !== owner),
  };
}

/** Whether the node's login has a token of a service account with an end. */
function hasTokenThatEnds({ connectionPort }: NodeRecord): boolean {
  const { token } = mapOf(connectionPort);
  if (typeof token !== 'string') return false;
  const [, claims = ''] = token.split('.');
  try {
    return mapOf(JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Json)['exp'] !== undefined;
  } catch {
    return false;
  }
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
    waiting: found.waiting.filter(isKnown),
    // their ends change with each renewal
    active: found.active.filter(isKnown).map((lease) => ({ ...lease, dueTimeMs: null })),
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

/** What the operator does before, as the original needs it and `rollback` cannot do it. */
export function adviceFor(found: Unfinished, trials: readonly string[]): string[] {
  const [lost, ending] = [lostLabels(found), found.ending.map(({ id }) => id)];
  const tokens = firstOf(ending, MOST_NAMED);
  return [
    ...(lost.length > 0
      ? [`no launcher of the original has label(s) ${lost.join(', ')}: start it before the next step`]
      : []),
    ...(ending.length > 0
      ? [`tokens of node(s) ${tokens} end, and the original renews none: set token-expiry: 0, and delete these nodes`]
      : []),
    ...trials.map(
      (image) => `the original uses the build of ${image} on trial for all launches: promote or roll it back`,
    ),
  ];
}

/** Labels that no pool of the original has, so that requests for them fail when the last launcher of this project is gone. */
function lostLabels({ ours, others }: Unfinished): string[] {
  const kept = new Set(others.flatMap(({ supportedLabels }) => supportedLabels));
  return [...new Set(ours.flatMap(({ supportedLabels }) => supportedLabels))].filter((label) => !kept.has(label));
}

/** Images with a build on trial, which the original, that knows no trials, uses as any other. */
export function trialsAmong(images: ReadonlyMap<string, ImageEntry>): string[] {
  const isTried = (entry: ImageEntry) => readyBuilds(entry).some((build) => !isInService(build));
  return [...images].flatMap(([image, entry]) => (isTried(entry) ? [image] : []));
}

/** Hosts of the launchers of this project. */
export function hostsOf({ ours }: Pick<Unfinished, 'ours'>): string {
  return [...new Set(ours.map(({ hostname }) => hostname))].sort().join(', ');
}
