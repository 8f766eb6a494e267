import type { Json, NodeRecord } from '@nodepool/zk-protocol';
import { formatAge } from './age.js';
import { timeColumn, withRanks, type Column, type Listing } from './listing.js';

/** A node, and whether its lock has a holder or contender. */
export interface NodeRow {
  readonly node: NodeRecord;
  readonly locked: boolean;
}

/** Hides ports that are not numbers: other drivers may store credentials in them. */
export function shownPort(port: Json): Json {
  if (typeof port === 'number' && Number.isFinite(port)) return Math.trunc(port);
  if (typeof port === 'string' && /^\s*[+-]?\d+\s*$/.test(port)) return Number(port);
  return 'redacted';
}

/** When a launcher ends the hold; `null` for a node that is not held or has no expiration. */
function holdEndMs({ state, stateTimeMs, holdExpirationMs }: NodeRecord): number | null {
  return state === 'hold' && (holdExpirationMs ?? 0) > 0 ? stateTimeMs + (holdExpirationMs ?? 0) : null;
}

type Level = Column<NodeRow>['level'];

function column(key: string, header: string, level: Level, value: (row: NodeRow, nowMs: number) => Json) {
  return { key, header, level, value } satisfies Column<NodeRow>;
}

function changing(steady: Column<NodeRow>): Column<NodeRow> {
  return { ...steady, isChanging: true };
}

/** Columns of `nodepool list`, `nodepool list --detail` and `/node-list`. */
export const nodeListing: Listing<NodeRow> = withRanks(
  [
    column('id', 'ID', 'brief', ({ node }) => node.id),
    column('provider', 'Provider', 'brief', ({ node }) => node.provider),
    column('label', 'Label', 'brief', ({ node }) => [...node.labels]),
    column('server_id', 'Server ID', 'brief', ({ node }) => node.externalId),
    column('public_ipv4', 'Public IPv4', 'brief', ({ node }) => node.publicIpv4),
    column('ipv6', 'IPv6', 'brief', ({ node }) => node.publicIpv6),
    column('state', 'State', 'brief', ({ node }) => node.state),
    changing(column('age', 'Age', 'brief', ({ node }, nowMs) => formatAge(nowMs - node.stateTimeMs))),
    changing(column('locked', 'Locked', 'brief', ({ locked }) => (locked ? 'locked' : 'unlocked'))),
    column('pool', 'Pool', 'detail', ({ node }) => node.pool),
    column('hostname', 'Hostname', 'detail', ({ node }) => node.hostname),
    column('private_ipv4', 'Private IPv4', 'detail', ({ node }) => node.privateIpv4),
    column('AZ', 'AZ', 'detail', ({ node }) => node.az),
    column('username', 'Username', 'detail', ({ node }) => node.username),
    column('connection_port', 'Port', 'detail', ({ node }) => shownPort(node.connectionPort)),
    column('launcher', 'Launcher', 'detail', ({ node }) => node.launcher),
    column('allocated_to', 'Allocated To', 'detail', ({ node }) => node.allocatedTo),
    column('hold_job', 'Hold Job', 'detail', ({ node }) => node.holdJob),
    column('comment', 'Comment', 'detail', ({ node }) => node.comment),
    column('user_data', 'User Data', 'detail', ({ node }) => node.userData),
    column('driver_data', 'Driver Data', 'detail', ({ node }) => node.driverData),
  ],
  { whole: ['id', 'public_ipv4'], spare: ['ipv6', 'server_id', 'locked', 'provider', 'age'] },
);

/** {@link nodeListing} with the additional members of this implementation, shown on request. */
export const extendedNodeListing: Listing<NodeRow> = [
  ...nodeListing,
  timeColumn('state_time', 'State Time', 'extra', ({ node }) => node.stateTimeMs),
  timeColumn('hold_until', 'Hold Until', 'extra', ({ node }) => holdEndMs(node)),
  column('launch_error', 'Launch Error', 'extra', ({ node }) => node.launchError),
];
