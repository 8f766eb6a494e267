import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Stat } from '../client/contract/types.js';
import {
  keepUnknown,
  NO_BODY,
  number,
  readBody,
  seconds,
  secondsOrNull,
  text,
  texts,
  timeMs,
  toBuffer,
} from './fields.js';
import { LEASE_SLOTS_ROOT, LEASE_TOKENS_ROOT } from './paths.js';
import type { Json, JsonObject } from './types.js';

/** What the holder of a token may lease. */
export interface LeaseRights {
  /** Owner of the leases: a person or a team. Several tokens may share one. */
  readonly owner: string;
  /** Patterns of labels, with `*` for any characters. */
  readonly labels: readonly string[];
  /** The longest time to live, and the longest renewal. */
  readonly maxTtlMs: number;
  /** Most nodes at a time, waiting ones included; `null`: no limit. */
  readonly maxNodes: number | null;
  /** Tenant whose limits (`tenant-resource-limits`) apply; `null`: none. */
  readonly tenantName: string | null;
  /** The highest priority, i.e. the smallest number. 100 high, 200 normal, 300 low. */
  readonly highestPriority: number;
  /** Whether it may see and end the leases of all owners. */
  readonly admin: boolean;
}

/** A token for leases. The secret itself is not stored. */
export interface LeaseTokenRecord extends LeaseRights {
  /** First part of the token: `NAME.SECRET`. */
  readonly name: string;
  /** SHA-256 of the secret, hexadecimal. The secret is random, so no slow hash is needed. */
  readonly hash: string;
  readonly createdTimeMs: number;
  /** When it expires; `null`: never. */
  readonly endTimeMs: number | null;
  /** Proves that it was made with the key of the launchers: see {@link signLeaseToken}. `null`: nothing does. */
  readonly mac: string | null;
  readonly raw: Readonly<JsonObject>;
  readonly stat: Stat | undefined;
}

/** Names of tokens: they are part of a path and of the token. */
export const LEASE_TOKEN_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Path of a token's record. */
export const leaseTokenPath = (name: string): string => `${LEASE_TOKENS_ROOT}/${name}`;

/** Directory of the numbers that a token's leases occupy. It outlives the token, as its leases do. */
export const leaseSlotsPath = (token: string): string => `${LEASE_SLOTS_ROOT}/${token}`;

/** Path of one of the numbers that limit a token's nodes; exists while a lease occupies it. */
export const leaseSlotPath = (token: string, slot: number): string => `${leaseSlotsPath(token)}/${slot}`;

/**
 * Reads a token.
 * @returns `undefined` for an empty body
 * @throws {RecordError} the body is not JSON, or a value has the wrong type
 */
export function decodeLeaseToken(name: string, body: Buffer, stat: Stat | undefined): LeaseTokenRecord | undefined {
  return readBody('lease token', name, body, (raw) => ({
    name,
    hash: text(raw.hash, 'hash') ?? '',
    owner: text(raw.owner, 'owner') ?? name,
    labels: texts(raw.labels, 'labels'),
    maxTtlMs: timeMs(raw.max_ttl, 'max_ttl') ?? 0,
    maxNodes: number(raw.max_nodes, 'max_nodes'),
    tenantName: text(raw.tenant_name, 'tenant_name'),
    highestPriority: number(raw.highest_priority, 'highest_priority') ?? 200,
    admin: raw.admin === true,
    createdTimeMs: timeMs(raw.created_time, 'created_time') ?? stat?.ctime ?? 0,
    endTimeMs: timeMs(raw.end_time, 'end_time'),
    mac: text(raw.mac, 'mac'),
    raw,
    stat,
  }));
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(
  'hash owner labels max_ttl max_nodes tenant_name highest_priority admin created_time end_time mac'.split(' '),
);

/** The body to store. */
export function encodeLeaseToken(token: LeaseTokenRecord): Buffer {
  const { raw } = token;
  const body: { [key: string]: Json } = {
    hash: token.hash,
    owner: token.owner,
    labels: [...token.labels],
    max_ttl: token.maxTtlMs / 1000,
    max_nodes: token.maxNodes,
    tenant_name: token.tenantName,
    highest_priority: token.highestPriority,
    admin: token.admin,
    created_time: seconds(token.createdTimeMs, raw.created_time),
    end_time: secondsOrNull(token.endTimeMs, raw.end_time),
    mac: token.mac,
  };
  keepUnknown(body, raw, KNOWN_KEYS);
  return toBuffer(body, raw);
}

/** A token that is not stored yet. */
export function newLeaseToken(
  fields: LeaseRights & Pick<LeaseTokenRecord, 'name' | 'hash' | 'endTimeMs'>,
  nowMs: number,
): LeaseTokenRecord {
  return { ...fields, createdTimeMs: nowMs, mac: null, raw: NO_BODY, stat: undefined };
}

/**
 * What the code is computed of: all that gives rights, each value as text so that no two records share one. A later version that
 * adds a right or a limit has to change the first word, so that this version refuses what it does not understand.
 */
function signedText(token: LeaseTokenRecord): string {
  const numbers = [token.maxTtlMs, token.maxNodes, token.highestPriority, token.endTimeMs];
  return JSON.stringify([
    ...['nodepool lease token 1', token.name, token.hash, token.owner, token.labels, token.tenantName, token.admin],
    ...numbers.map((each) => (each === null ? null : String(Math.round(each)))), // seconds on the wire lose fractions
  ]);
}

const macOf = (token: LeaseTokenRecord, key: string): string =>
  createHmac('sha256', key).update(signedText(token)).digest('hex');

/** The token with its message authentication code. @param key - the secret that only launchers and their operators have */
export function signLeaseToken(token: LeaseTokenRecord, key: string): LeaseTokenRecord {
  return { ...token, mac: macOf(token, key) };
}

/** Whether the token was made with one of these keys as it is, under this name. Without that it gives no rights. */
export function isSignedLeaseToken(token: LeaseTokenRecord, keys: readonly string[]): boolean {
  const given = Buffer.from(token.mac ?? '');
  return keys.some((key) => {
    const expected = Buffer.from(macOf(token, key));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
