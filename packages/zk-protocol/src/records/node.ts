import type { Stat } from '../client/contract/types.js';
import {
  amounts,
  copyWith,
  keepUnknown,
  NO_BODY,
  number,
  object,
  readBody,
  seconds,
  secondsOrNull,
  text,
  textOr,
  textOrObject,
  texts,
  textsOrOne,
  timeMs,
  toBuffer,
} from './fields.js';
import type { Value } from './fields.js';
import { assertNodeTransition } from './states.js';
import type { NodeActor } from './states.js';
import type { Json, JsonObject, NodeId, NodeRecord, RequestId } from './types.js';

/** Fields of a node that callers may set. */
export type NodeFields = Partial<Omit<NodeRecord, 'id' | 'raw' | 'stat'>>;

/**
 * Reads a stored node.
 * @param nowMs - default for a missing `state_time`
 * @returns `undefined` for an empty body, which is not a node. A record without a state has `state: ''`
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeNode(id: NodeId, body: Buffer, stat: Stat | undefined, nowMs: number): NodeRecord | undefined {
  return readBody('node', id, body, (raw) => fromRaw(id, raw, stat, nowMs));
}

/** In one piece: a table with a line for each field. */
function fromRaw(id: NodeId, raw: JsonObject, stat: Stat | undefined, nowMs: number): NodeRecord {
  return {
    id,
    state: text(raw.state, 'state') ?? '',
    stateTimeMs: timeMs(raw.state_time, 'state_time') ?? nowMs,
    createdTimeMs: timeMs(raw.created_time, 'created_time'),
    cloud: text(raw.cloud, 'cloud'),
    provider: text(raw.provider, 'provider'),
    pool: text(raw.pool, 'pool'),
    labels: textsOrOne(raw.type, 'type'),
    allocatedTo: text(raw.allocated_to, 'allocated_to') as RequestId | null,
    az: text(raw.az, 'az'),
    region: text(raw.region, 'region'),
    publicIpv4: text(raw.public_ipv4, 'public_ipv4'),
    privateIpv4: text(raw.private_ipv4, 'private_ipv4'),
    publicIpv6: text(raw.public_ipv6, 'public_ipv6'),
    hostId: text(raw.host_id, 'host_id'),
    interfaceIp: text(raw.interface_ip, 'interface_ip'),
    connectionPort: connectionPort(raw),
    imageId: text(raw.image_id, 'image_id'),
    launcher: text(raw.launcher, 'launcher'),
    externalId: textOrObject(raw.external_id, 'external_id'),
    hostname: text(raw.hostname, 'hostname'),
    comment: text(raw.comment, 'comment'),
    userData: raw.user_data ?? null,
    holdJob: text(raw.hold_job, 'hold_job'),
    hostKeys: texts(raw.host_keys, 'host_keys'),
    username: textOr(raw.username, 'username', 'zuul'),
    connectionType: text(raw.connection_type, 'connection_type'),
    shellType: text(raw.shell_type, 'shell_type'),
    holdExpirationMs: holdExpirationMs(raw.hold_expiration),
    resources: amounts(raw.resources, 'resources'),
    slot: number(raw.slot, 'slot'),
    attributes: object(raw.attributes, 'attributes'),
    pythonPath: text(raw.python_path, 'python_path'),
    tenantName: text(raw.tenant_name, 'tenant_name'),
    driverData: raw.driver_data ?? null,
    requestor: text(raw.requestor, 'requestor'),
    launchError: text(raw.launch_error, 'launch_error'),
    launchState: object(raw.launch_state, 'launch_state'),
    raw,
    stat,
  };
}

/** Old records have `ssh_port` only. An explicit `null` is kept. */
function connectionPort(raw: JsonObject): Json {
  if (raw.connection_port !== undefined) return raw.connection_port;
  return raw.ssh_port ?? 22;
}

/** Zuul writes a number or a string; an invalid value means "no limit", as in Nodepool. */
function holdExpirationMs(value: Value): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return value * 1000;
  if (typeof value === 'string' && /^\s*[+-]?\d+\s*$/.test(value)) return Number(value) * 1000;
  return 0;
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(
  (
    'state state_time cloud provider pool type allocated_to az region public_ipv4 private_ipv4 public_ipv6 host_id ' +
    'interface_ip connection_port ssh_port image_id launcher created_time external_id hostname comment user_data ' +
    'hold_job host_keys username connection_type shell_type hold_expiration resources slot attributes python_path ' +
    'tenant_name driver_data requestor launch_error launch_state'
  ).split(' '),
);

/**
 * The body to store: the keys of the data model in order, then unknown keys of other programs.
 * In one piece: a table with a line for each key.
 */
export function encodeNode(node: NodeRecord): Buffer {
  const { raw } = node;
  const body: { [key: string]: Json } = {
    state: node.state === '' ? null : node.state,
    state_time: seconds(node.stateTimeMs, raw.state_time),
    cloud: node.cloud,
    provider: node.provider,
    pool: node.pool,
    type: node.labels as string[],
    allocated_to: node.allocatedTo,
    az: node.az,
    region: node.region,
    public_ipv4: node.publicIpv4,
    private_ipv4: node.privateIpv4,
    public_ipv6: node.publicIpv6,
    host_id: node.hostId,
    interface_ip: node.interfaceIp,
    connection_port: node.connectionPort,
    ssh_port: node.connectionPort,
    image_id: node.imageId,
    launcher: node.launcher,
    created_time: secondsOrNull(node.createdTimeMs, raw.created_time),
    external_id: node.externalId,
    hostname: node.hostname,
    comment: node.comment,
    user_data: node.userData,
    hold_job: node.holdJob,
    host_keys: node.hostKeys as string[],
    username: node.username,
    connection_type: node.connectionType,
    shell_type: node.shellType,
    hold_expiration: secondsOrNull(node.holdExpirationMs, raw.hold_expiration),
    resources: node.resources,
    slot: node.slot,
    attributes: node.attributes,
    python_path: node.pythonPath,
    tenant_name: node.tenantName,
    driver_data: node.driverData,
    requestor: node.requestor,
  };
  if (node.launchError !== null) body.launch_error = node.launchError;
  if (node.launchState !== null) body.launch_state = node.launchState;
  if (raw !== NO_BODY) keepUnknown(body, raw, KNOWN_KEYS);
  return toBuffer(body, raw);
}

/** A node that is not stored yet, created now. Its id is `''` until ZooKeeper assigns one. */
export function newNode(fields: NodeFields & Pick<NodeRecord, 'state'>, nowMs: number): NodeRecord {
  const node: NodeRecord = { ...EMPTY_NODE, stateTimeMs: nowMs, createdTimeMs: nowMs };
  return copyWith<NodeRecord>(node, fields);
}

const EMPTY_NODE: NodeRecord = {
  ...fromRaw('' as NodeId, { username: null }, undefined, 0),
  raw: NO_BODY,
};

/**
 * A copy of the node with some fields changed. Setting a state, even the same one, sets its time to now; before the first
 * store also the creation time.
 * @param actor - if set, the state change is checked against the transition table
 * @throws {TransitionError} the table does not allow this change to this actor
 */
export function withNode(node: NodeRecord, changes: NodeFields, nowMs: number, actor?: NodeActor): NodeRecord {
  if (changes.state === undefined) return copyWith<NodeRecord>(node, changes);
  if (actor !== undefined) assertNodeTransition(node.state, changes.state, actor);
  const next = copyWith<NodeRecord>(node, changes) as { -readonly [K in keyof NodeRecord]: NodeRecord[K] };
  if (changes.stateTimeMs === undefined) next.stateTimeMs = nowMs;
  if (changes.createdTimeMs === undefined && node.raw === NO_BODY && node.createdTimeMs === node.stateTimeMs) {
    next.createdTimeMs = next.stateTimeMs;
  }
  return next;
}
