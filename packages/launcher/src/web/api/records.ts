import {
  compareRequests,
  type ComponentRecord,
  type JsonObject,
  type NodeRecord,
  type PoolComponentRecord,
  type RequestRecord,
  type Resources,
} from '@nodepool/zk-protocol';
import type { PoolStatus } from '@nodepool/core/launcher';
import { shownPort, userOf } from '@nodepool/core/service';
import { FLAG, listOf, NUMBERS, orNull, record, ref, TEXT, TIME, WHOLE } from '@nodepool/daemon';

const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);

const PORT = { type: ['integer', 'string'], description: 'A port that is not a number is "redacted"' };
const HOLD_LIMIT = { type: 'number', description: 'Maximum duration of the hold, seconds' };

/** Schemas of the records, by name. */
export const RECORD_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  Node: record({
    ...{ id: TEXT, provider: orNull(TEXT), pool: orNull(TEXT), labels: listOf(TEXT), state: TEXT, state_time: TIME },
    ...{ created_time: orNull(TIME), locked: FLAG, external_id: {}, hostname: orNull(TEXT), az: orNull(TEXT) },
    ...{ public_ipv4: orNull(TEXT), private_ipv4: orNull(TEXT), public_ipv6: orNull(TEXT), username: orNull(TEXT) },
    ...{ connection_type: orNull(TEXT), connection_port: PORT, host_keys: listOf(TEXT) },
    ...{ launcher: orNull(TEXT), allocated_to: orNull(TEXT), requestor: orNull(TEXT) },
    ...{
      tenant_name: orNull(TEXT),
      hold_job: orNull(TEXT),
      hold_expiration: orNull(HOLD_LIMIT),
      comment: orNull(TEXT),
    },
    user: orNull({ ...TEXT, description: 'Name of its user; null if unused' }),
    ...{ resources: orNull(NUMBERS), launch_error: orNull(TEXT) },
  }),
  Reason: record({ launcher: TEXT, rule: TEXT, text: TEXT, time: TIME }),
  Request: record({
    ...{ id: TEXT, state: TEXT, state_time: TIME, created_time: orNull(TIME), labels: listOf(TEXT) },
    ...{ nodes: listOf(TEXT), requestor: orNull(TEXT), tenant_name: orNull(TEXT), provider: orNull(TEXT) },
    ...{ relative_priority: WHOLE, event_id: orNull(TEXT), declined_by: listOf(TEXT) },
    position: orNull({ ...WHOLE, description: 'Number of requests ahead of it; null once it is accepted' }),
    ...{ reasons: listOf(ref('Reason')), launch_error: orNull(TEXT) },
  }),
  Reservation: record({ request: TEXT, need: NUMBERS }),
  Pool: record({
    ...{ provider: TEXT, pool: TEXT, launcher: TEXT, hostname: TEXT, labels: listOf(TEXT), paused: FLAG },
    own: { ...FLAG, description: 'Whether the answering launcher has this pool; otherwise the figures below are null' },
    ...{ handling: orNull(WHOLE), waiting: orNull(WHOLE), waiting_for_capacity: orNull(WHOLE) },
    max_servers: orNull({ ...WHOLE, description: 'null: no limit' }),
    ...{ used: orNull(NUMBERS), provider_used: orNull(NUMBERS), provider_limits: orNull(NUMBERS) },
    reservations: orNull(listOf(ref('Reservation'))),
  }),
  Component: record({
    ...{ kind: TEXT, id: TEXT, hostname: TEXT, state: TEXT, version: orNull(TEXT), model_api: WHOLE },
    web_url: orNull(TEXT),
  }),
};

/** Converts a node to its form in the API. One literal, because lists have ten thousand of them. */
export function nodeToApi(node: NodeRecord, locked: boolean): JsonObject {
  return {
    id: node.id,
    provider: node.provider,
    pool: node.pool,
    labels: node.labels as string[],
    state: node.state,
    state_time: node.stateTimeMs / 1000,
    created_time: seconds(node.createdTimeMs),
    locked,
    external_id: node.externalId,
    hostname: node.hostname,
    az: node.az,
    public_ipv4: node.publicIpv4,
    private_ipv4: node.privateIpv4,
    public_ipv6: node.publicIpv6,
    username: node.username,
    connection_type: node.connectionType,
    connection_port: shownPort(node.connectionPort),
    host_keys: node.hostKeys as string[],
    launcher: node.launcher,
    allocated_to: node.allocatedTo,
    requestor: node.requestor,
    tenant_name: node.tenantName,
    hold_job: node.holdJob,
    hold_expiration: seconds(node.holdExpirationMs),
    comment: node.comment,
    user: userOf(node),
    resources: node.resources === null ? null : finite(node.resources),
    launch_error: node.launchError,
  };
}

/** Converts a request to its form in the API. @param position - see the schema */
export function requestToApi(request: RequestRecord, position: number | null): JsonObject {
  const reasons = Object.entries(request.declineReasons);
  return {
    id: request.id,
    state: request.state,
    state_time: request.stateTimeMs / 1000,
    created_time: seconds(createdMs(request)),
    labels: request.labels as string[],
    nodes: [...request.nodeIds],
    requestor: request.requestor,
    tenant_name: request.tenantName,
    provider: request.provider,
    relative_priority: request.relativePriority,
    event_id: request.eventId,
    declined_by: request.declinedBy as string[],
    position,
    reasons: reasons.map(([launcher, { rule, text, timeMs }]) => ({ launcher, rule, text, time: timeMs / 1000 })),
    launch_error: request.launchError,
  };
}

/** Creation time of a request, milliseconds since the UNIX epoch. */
export function createdMs(request: RequestRecord): number | null {
  return request.createdTimeMs ?? request.stat?.ctime ?? null;
}

/** Requests that no launcher has accepted yet, in the order in which launchers consider them. */
export function waitingRequests(requests: Iterable<RequestRecord>): RequestRecord[] {
  return [...requests].filter(({ state }) => state === 'requested').sort(compareRequests);
}

/** Leaves out unlimited resources, as JSON has no infinity. */
export function finite(resources: Resources): Record<string, number> {
  return Object.fromEntries(Object.entries(resources).filter(([, amount]) => Number.isFinite(amount)));
}

/** Converts a registered pool to its form in the API. @param own - figures, if the pool belongs to this launcher */
export function poolToApi(pool: PoolComponentRecord, own: PoolStatus | undefined): JsonObject {
  return {
    ...{ provider: pool.providerName, pool: pool.name, launcher: pool.launcherId, hostname: pool.hostname },
    ...{ labels: [...pool.supportedLabels], paused: pool.paused, own: own !== undefined },
    ...{ handling: own?.handling ?? null, waiting: own?.waiting ?? null, waiting_for_capacity: own?.paused ?? null },
    max_servers: own && Number.isFinite(own.maxServers) ? own.maxServers : null,
    used: own ? finite(own.used) : null,
    provider_used: own ? finite(own.providerUsed) : null,
    provider_limits: own?.providerLimits ? finite(own.providerLimits) : null,
    reservations: own?.reservations.map(({ requestId, need }) => ({ request: requestId, need: finite(need) })) ?? null,
  };
}

/** Converts a registered process or pool to its form in the API. */
export function componentToApi(component: ComponentRecord): JsonObject {
  const { kind, id, hostname, state, version, modelApi, webUrl } = component;
  return { kind, id, hostname, state, version, model_api: modelApi, web_url: webUrl ?? null };
}

/** Converts the items of a long list one by one, when they are read. */
export function* mapEach<T>(items: readonly T[], map: (item: T) => JsonObject): Generator<JsonObject, void> {
  for (const item of items) yield map(item);
}
