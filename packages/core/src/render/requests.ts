import { reasonsByPool } from '../text/decline-reasons.js';
import type { DeclineReason, Json, RequestRecord } from '@nodepool/zk-protocol';
import { formatAge } from './age.js';
import { withRanks, type Column, type Listing } from './listing.js';

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

/** Columns of `nodepool request-list` and `/request-list`. */
export const requestListing: Listing<RequestRecord> = withRanks(
  [
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
  ],
  { whole: ['id'], spare: ['event_id', 'declined_by', 'relative_priority', 'requestor', 'nodes'] },
);
