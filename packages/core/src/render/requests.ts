import { reasonsByPool } from '../text/decline-reasons.js';
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

/** @param spare - the highest number is left out first if a table is too wide */
function optional(spare: number, necessary: Column<RequestRecord>): Column<RequestRecord> {
  return { ...necessary, spare };
}

function reasonToJson(reason: DeclineReason): Json {
  return { rule: reason.rule, text: reason.text, time: reason.timeMs / MS_PER_SECOND };
}

function reasonsToJson(request: RequestRecord): Json {
  const reasons = Object.entries(request.declineReasons);
  return Object.fromEntries(reasons.map(([launcher, reason]) => [launcher, reasonToJson(reason)]));
}

/** Columns of `nodepool request-list` and `/request-list`. */
export const requestListing: Listing<RequestRecord> = [
  { ...column('id', 'Request ID', 'brief', (request) => request.id), isWhole: true },
  optional(
    3,
    column('relative_priority', 'Priority', 'brief', (request) => request.relativePriority),
  ),
  column('state', 'State', 'brief', (request) => request.state),
  optional(
    2,
    column('requestor', 'Requestor', 'brief', (request) => request.requestor),
  ),
  column('node_types', 'Node Types', 'brief', (request) => [...request.labels]),
  optional(
    1,
    column('nodes', 'Nodes', 'brief', (request) => [...request.nodeIds]),
  ),
  optional(
    4,
    column('declined_by', 'Declined By', 'brief', (request) => [...request.declinedBy]),
  ),
  optional(
    5,
    column('event_id', 'Event ID', 'brief', (request) => request.eventId),
  ),
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
