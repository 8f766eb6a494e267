import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { Acl } from '../../client/types.js';
import type { AuthId } from './connection.js';

/** Bits of {@link Acl.permissions}. */
export const Permission = { read: 1, write: 2, create: 4, delete: 8, admin: 16, all: 31 } as const;

/** Everybody may do everything. Shared by all znodes that have it. */
export const OPEN_ACL: readonly Acl[] = [{ permissions: Permission.all, scheme: 'world', id: 'anyone' }];

/** Everybody may read. */
export const READ_ACL: readonly Acl[] = [{ permissions: Permission.read, scheme: 'world', id: 'anyone' }];

/** True when one of the identities has the permission (any of the bits). */
export function isAllowed(acl: readonly Acl[], permission: number, auth: readonly AuthId[]): boolean {
  if (acl === OPEN_ACL || acl.length === 0) return true;
  return acl.some((entry) => {
    if ((entry.permissions & permission) === 0) return false;
    if (entry.scheme === 'world' && entry.id === 'anyone') return true;
    return auth.some((who) => who.scheme === entry.scheme && matches(entry, who.id));
  });
}

/**
 * The list as it is stored: duplicates dropped, `auth` replaced by the identities the caller has proved.
 * @returns `undefined` when the list is empty or holds an unknown scheme or a malformed id
 */
export function storedAcl(acl: readonly Acl[], auth: readonly AuthId[]): readonly Acl[] | undefined {
  if (acl.length === 1 && acl[0] !== undefined && isOpen(acl[0])) return OPEN_ACL;
  const stored: Acl[] = [];
  for (const entry of withoutDuplicates(acl)) {
    const entries = entry.scheme === 'auth' ? provenEntries(entry.permissions, auth) : [entry];
    if (entries.length === 0 || !entries.every(isWellFormed)) return undefined;
    stored.push(...entries);
  }
  return stored.length === 0 ? undefined : stored;
}

/** What a caller without admin permission sees: digests of passwords are masked. */
export function maskedAcl(acl: readonly Acl[]): readonly Acl[] {
  return acl.map((entry) => (entry.scheme === 'digest' ? { ...entry, id: entry.id.replace(/:.*/s, ':x') } : entry));
}

/** The id that ACLs hold for `user:password`. */
export function digestId(userAndPassword: string): string {
  const user = userAndPassword.split(':', 1)[0] ?? '';
  return `${user}:${createHash('sha1').update(userAndPassword).digest('base64')}`;
}

function isOpen(entry: Acl): boolean {
  return entry.permissions === Permission.all && entry.scheme === 'world' && entry.id === 'anyone';
}

function withoutDuplicates(acl: readonly Acl[]): Acl[] {
  return acl.filter(
    (entry, index) =>
      acl.findIndex(
        (other) => other.permissions === entry.permissions && other.scheme === entry.scheme && other.id === entry.id,
      ) === index,
  );
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
  const network = parseNetwork(entry.id);
  const family = isIP(id);
  return network !== undefined && family === network.family && contains(network, id);
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

function contains({ address, family, bits }: Network, candidate: string): boolean {
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(address, bits, type);
  return list.check(candidate, type);
}
