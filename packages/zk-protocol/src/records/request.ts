import { isDeepStrictEqual } from 'node:util';
import type { Stat } from '../client/contract/types.js';
import { copyWith, keepUnknown, NO_BODY, readBody, seconds, secondsOrNull } from './fields.js';
import { isMap } from './json-values.js';
import { number, text, texts, timeMs, toBuffer } from './fields.js';
import type { Value } from './fields.js';
import { assertRequestTransition } from './states.js';
import type { RequestActor } from './states.js';
import type { DeclineReason, Json, JsonObject, NodeId, RequestId, RequestRecord } from './types.js';

/** Fields of a request that callers may set. */
export type RequestFields = Partial<Omit<RequestRecord, 'id' | 'raw' | 'stat'>>;

type DeclineReasons = RequestRecord['declineReasons'];
const NO_REASONS: DeclineReasons = Object.freeze({});

/**
 * Reads a stored request.
 * @param nowMs - default for a missing `state_time`
 * @returns `undefined` for an empty body, which is not a request. A record without a state has `state: ''`
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeRequest(
  id: RequestId,
  body: Buffer,
  stat: Stat | undefined,
  nowMs: number,
): RequestRecord | undefined {
  return readBody('request', id, body, (raw) => fromRaw(id, raw, stat, nowMs));
}

function fromRaw(id: RequestId, raw: JsonObject, stat: Stat | undefined, nowMs: number): RequestRecord {
  return {
    id,
    state: text(raw.state, 'state') ?? '',
    stateTimeMs: timeMs(raw.state_time, 'state_time') ?? nowMs,
    declinedBy: texts(raw.declined_by, 'declined_by'),
    labels: texts(raw.node_types, 'node_types'),
    nodeIds: texts(raw.nodes, 'nodes') as NodeId[],
    // As in Nodepool, any falsy value switches reuse off.
    reuse: raw.reuse === undefined ? true : Boolean(raw.reuse),
    requestor: text(raw.requestor, 'requestor'),
    requestorData: raw.requestor_data ?? null,
    provider: text(raw.provider, 'provider'),
    relativePriority: number(raw.relative_priority, 'relative_priority') ?? 0,
    eventId: text(raw.event_id, 'event_id'),
    createdTimeMs: timeMs(raw.created_time, 'created_time'),
    tenantName: text(raw.tenant_name, 'tenant_name'),
    declineReasons: raw.decline_reasons === undefined ? NO_REASONS : decodeReasons(raw.decline_reasons),
    launchError: text(raw.launch_error, 'launch_error'),
    raw,
    stat,
  };
}

/** Skips malformed entries: explanations must not make a request unreadable. */
function decodeReasons(value: Value): DeclineReasons {
  if (!isMap(value)) return NO_REASONS;
  const reasons: Record<string, DeclineReason> = {};
  for (const [launcherId, entry] of Object.entries(value)) {
    const reason = decodeReason(entry);
    if (reason) reasons[launcherId] = reason;
  }
  return reasons;
}

function decodeReason(entry: Value): DeclineReason | undefined {
  if (!isMap(entry) || typeof entry.rule !== 'string' || typeof entry.text !== 'string') return undefined;
  return { rule: entry.rule, text: entry.text, timeMs: typeof entry.time === 'number' ? entry.time * 1000 : 0 };
}

/** Writes back entries of other launchers as they were read, including unknown keys and malformed entries. */
function encodeReasons(reasons: DeclineReasons, asRead: Value): Json {
  if (!isMap(asRead)) return reasons === NO_REASONS ? (asRead ?? null) : encodeNewReasons(reasons);
  const body: JsonObject = {};
  for (const [launcherId, entry] of Object.entries(asRead)) {
    const before = decodeReason(entry);
    if (!before || isDeepStrictEqual(before, reasons[launcherId])) body[launcherId] = entry;
  }
  return { ...encodeNewReasons(reasons), ...body };
}

function encodeNewReasons(reasons: DeclineReasons): JsonObject {
  const body: JsonObject = {};
  for (const [launcherId, { rule, text, timeMs }] of Object.entries(reasons)) {
    body[launcherId] = { rule, text, time: timeMs / 1000 };
  }
  return body;
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(
  (
    'state state_time declined_by node_types nodes reuse requestor requestor_data provider relative_priority ' +
    'event_id created_time tenant_name decline_reasons launch_error'
  ).split(' '),
);

/** The body to store: the keys of the data model in order, then unknown keys of other programs. */
export function encodeRequest(request: RequestRecord): Buffer {
  const { raw } = request;
  const body: { [key: string]: Json } = {
    state: request.state === '' ? null : request.state,
    state_time: seconds(request.stateTimeMs, raw.state_time),
    declined_by: request.declinedBy as string[],
    node_types: request.labels as string[],
    nodes: request.nodeIds as NodeId[],
    reuse: request.reuse,
    requestor: request.requestor,
    requestor_data: request.requestorData,
    provider: request.provider,
    relative_priority: request.relativePriority,
    event_id: request.eventId,
    created_time: secondsOrNull(request.createdTimeMs, raw.created_time),
    tenant_name: request.tenantName,
  };
  if (request.declineReasons !== NO_REASONS || raw.decline_reasons !== undefined) {
    body.decline_reasons = encodeReasons(request.declineReasons, raw.decline_reasons);
  }
  if (request.launchError !== null) body.launch_error = request.launchError;
  if (raw !== NO_BODY) keepUnknown(body, raw, KNOWN_KEYS);
  return toBuffer(body, raw);
}

const EMPTY_REQUEST: RequestRecord = {
  ...fromRaw('' as RequestId, { state: 'requested' }, undefined, 0),
  raw: NO_BODY,
};

/** A request that is not stored yet, in state `requested`. Its id is `''` until ZooKeeper assigns one. */
export function newRequest(fields: RequestFields & Pick<RequestRecord, 'labels'>, nowMs: number): RequestRecord {
  const request: RequestRecord = { ...EMPTY_REQUEST, stateTimeMs: nowMs };
  return copyWith<RequestRecord>(request, fields);
}

/**
 * A copy of the request with some fields changed. Setting a state, even the same one, sets its time to now.
 * @param actor - if set, the state change is checked against the transition table
 * @throws {TransitionError} the table does not allow this change to this actor
 */
export function withRequest(
  request: RequestRecord,
  changes: RequestFields,
  nowMs: number,
  actor?: RequestActor,
): RequestRecord {
  if (changes.state === undefined) return copyWith<RequestRecord>(request, changes);
  if (actor !== undefined) assertRequestTransition(request.state, changes.state, actor);
  const next = copyWith<RequestRecord>(request, changes) as { -readonly [K in keyof RequestRecord]: RequestRecord[K] };
  if (changes.stateTimeMs === undefined) next.stateTimeMs = nowMs;
  return next;
}

/** Fields that determine the handling order. */
export type RequestOrder = Pick<RequestRecord, 'id' | 'relativePriority'>;

/** Handling order: priority (text), relative priority (number), sequence (text). Negative if `a` comes first. */
export function compareRequests(a: RequestOrder, b: RequestOrder): number {
  const [priorityA, sequenceA] = splitRequestId(a.id);
  const [priorityB, sequenceB] = splitRequestId(b.id);
  if (priorityA !== priorityB) return priorityA < priorityB ? -1 : 1;
  if (a.relativePriority !== b.relativePriority) return a.relativePriority - b.relativePriority;
  if (sequenceA === sequenceB) return 0;
  return sequenceA < sequenceB ? -1 : 1;
}

function splitRequestId(id: string): [priority: string, sequence: string] {
  const dash = id.indexOf('-');
  return dash < 0 ? [id, ''] : [id.slice(0, dash), id.slice(dash + 1)];
}
