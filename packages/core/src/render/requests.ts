import type { DeclineReason, Json, RequestRecord } from '@nodepool/zk-protocol';
import { formatAge } from './age.js';
import type { Column, Listing } from './listing.js';

const MS_PER_SECOND = 1000;

type Level = Column<RequestRecord>['level'];

function column(
  key: string,
  header: string,
  level: Level,
  value: Column<RequestRecord>['value'],
  cell?: Column<RequestRecord>['cell'],
): Column<RequestRecord> {
  return { key, header, level, value, ...(cell && { cell }) };
}

function reasonToJson(reason: DeclineReason): Json {
  return { rule: reason.rule, text: reason.text, time: reason.timeMs / MS_PER_SECOND };
}

function reasonsToJson(request: RequestRecord): Json {
  const reasons = Object.entries(request.declineReasons);
  return Object.fromEntries(reasons.map(([launcher, reason]) => [launcher, reasonToJson(reason)]));
}

/** Pool workers are named `<host>-PoolWorker.<provider>-<pool>-<32 hex digits>`. */
const WORKER_ID = /-PoolWorker\.(.+)-[0-9a-f]{32}$/;

/** Last reason of each pool that did not take the request, e.g. `rack-main: no label big`, grouped by reason. */
function reasonsByPool(request: RequestRecord): string[] {
  const pools = new Map<string, string[]>();
  for (const [launcher, { text }] of Object.entries(request.declineReasons)) {
    pools.set(text, [...(pools.get(text) ?? []), WORKER_ID.exec(launcher)?.[1] ?? launcher]);
  }
  return [...pools].map(([text, names]) => `${names.join(', ')}: ${text}`);
}

/** Columns of `nodepool request-list` and `/request-list`. */
export const requestListing: Listing<RequestRecord> = [
  column('id', 'Request ID', 'brief', (request) => request.id),
  column('relative_priority', 'Priority', 'brief', (request) => request.relativePriority),
  column('state', 'State', 'brief', (request) => request.state),
  column('requestor', 'Requestor', 'brief', (request) => request.requestor),
  column('node_types', 'Node Types', 'brief', (request) => [...request.labels]),
  column('nodes', 'Nodes', 'brief', (request) => [...request.nodeIds]),
  column('declined_by', 'Declined By', 'brief', (request) => [...request.declinedBy]),
  column('event_id', 'Event ID', 'brief', (request) => request.eventId),
  column(
    'state_time',
    'Age',
    'detail',
    (request) => request.stateTimeMs / MS_PER_SECOND,
    (request, nowMs) => formatAge(nowMs - request.stateTimeMs),
  ),
  column('provider', 'Provider', 'detail', (request) => request.provider),
  column('tenant_name', 'Tenant', 'detail', (request) => request.tenantName),
  column('decline_reasons', 'Reasons', 'detail', reasonsToJson, (request) => reasonsByPool(request).join('; ')),
  column('launch_error', 'Launch Error', 'detail', (request) => request.launchError),
];
