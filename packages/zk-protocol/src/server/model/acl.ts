import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { Acl } from '../../client/contract/types.js';
import type { AuthId, ModelConnection } from './connection.js';
import { MAX_ACL_ENTRIES, MAX_IDENTITIES } from './limits.js';

/** Bits of {@link Acl.permissions}. */
export const Permission = { read: 1, write: 2, create: 4, delete: 8, admin: 16, all: 31 } as const;

/** All permissions for everyone. Shared by all znodes that have it. */
export const OPEN_ACL: readonly Acl[] = [{ permissions: Permission.all, scheme: 'world', id: 'anyone' }];

/** Read permission for everyone. */
export const READ_ACL: readonly Acl[] = [{ permissions: Permission.read, scheme: 'world', id: 'anyone' }];

/** Whether one of the identities has any of the permission bits. */
export function isAllowed(acl: readonly Acl[], permission: number, auth: readonly AuthId[]): boolean {
  if (acl === OPEN_ACL || acl.length === 0) return true;
  return acl.some((entry) => {
    if ((entry.permissions & permission) === 0) return false;
    if (entry.scheme === 'world' && entry.id === 'anyone') return true;
    return auth.some((who) => who.scheme === entry.scheme && matches(entry, who.id));
  });
}

/**
 * The list to store: without duplicates, and with the caller's proven identities in place of `auth`.
 * @returns `undefined` if the list is empty or too long, or has an unknown scheme or a malformed id
 */
export function storedAcl(acl: readonly Acl[], auth: readonly AuthId[]): readonly Acl[] | undefined {
  if (acl.length === 1 && acl[0] !== undefined && isOpen(acl[0])) return OPEN_ACL;
  if (acl.length > MAX_ACL_ENTRIES) return undefined;
  const stored: Acl[] = [];
  for (const entry of withoutDuplicates(acl)) {
    const entries = entry.scheme === 'auth' ? provenEntries(entry.permissions, auth) : [entry];
    if (entries.length === 0 || !entries.every(isWellFormed)) return undefined;
    stored.push(...entries);
  }
  return stored.length === 0 || stored.length > MAX_ACL_ENTRIES ? undefined : stored;
}

/** The list for a caller without admin permission, with masked digests. */
export function maskedAcl(acl: readonly Acl[]): readonly Acl[] {
  return acl.map((entry) => (entry.scheme === 'digest' ? { ...entry, id: entry.id.replace(/:.*/s, ':x') } : entry));
}

/** The ACL id of `user:password`. */
export function digestId(userAndPassword: string): string {
  const user = userAndPassword.split(':', 1)[0] ?? '';
  return `${user}:${createHash('sha1').update(userAndPassword).digest('base64')}`;
}

function isOpen(entry: Acl): boolean {
  return entry.permissions === Permission.all && entry.scheme === 'world' && entry.id === 'anyone';
}

function withoutDuplicates(acl: readonly Acl[]): Acl[] {
  const known = new Map(acl.map((entry) => [JSON.stringify([entry.permissions, entry.scheme, entry.id]), entry]));
  return [...known.values()];
}

function provenEntries(permissions: number, auth: readonly AuthId[]): Acl[] {
  return auth.filter(({ scheme }) => scheme === 'digest').map(({ scheme, id }) => ({ permissions, scheme, id }));
}

function isWellFormed({ scheme, id }: Acl): boolean {
  if (scheme === 'world') return id === 'anyone';
  if (scheme === 'digest') return id.split(':').length === 2 && !id.endsWith(':');
  return scheme === 'ip' && parseNetwork(id) !== undefined;
}

function matches(entry: Acl, id: string): boolean {
  if (entry.scheme !== 'ip') return entry.id === id;
  let network = networks.get(entry);
  if (network === undefined) networks.set(entry, (network = networkOf(entry.id)));
  return network.check(id, isIP(id) === 6 ? 'ipv6' : 'ipv4');
}

/** Parsed once per entry, as one request may check it thousands of times. */
const networks = new WeakMap<Acl, BlockList>();

function networkOf(id: string): BlockList {
  const list = new BlockList();
  const network = parseNetwork(id);
  if (network) list.addSubnet(network.address, network.bits, network.family === 4 ? 'ipv4' : 'ipv6');
  return list;
}

interface Network {
  address: string;
  family: 4 | 6;
  bits: number;
}

function parseNetwork(id: string): Network | undefined {
  const [address = '', bitsText, ...rest] = id.split('/');
  const family = isIP(address);
  if ((family !== 4 && family !== 6) || rest.length > 0) return undefined;
  const maxBits = family === 4 ? 32 : 128;
  const bits = bitsText === undefined ? maxBits : Number(bitsText);
  if (!Number.isInteger(bits) || bits < 0 || bits > maxBits || bitsText === '') return undefined;
  return { address, family, bits };
}

/**
 * Adds a proven identity.
 * @returns false for an unknown scheme or beyond the limit; close the connection then
 */
export function addIdentity({ auth }: ModelConnection, scheme: string, credentials: Buffer): boolean {
  if (scheme === 'ip') return true;
  if (scheme !== 'digest') return false;
  const id = digestId(credentials.toString('utf8'));
  if (auth.some((known) => known.scheme === scheme && known.id === id)) return true;
  if (auth.length >= MAX_IDENTITIES) return false;
  auth.push({ scheme, id });
  return true;
}
