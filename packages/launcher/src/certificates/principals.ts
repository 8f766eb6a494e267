import { connectionDetails } from '@nodepool/core/service';
import type { CertificateMode, LeaseRecord, NodeRecord } from '@nodepool/zk-protocol';

/** Longest owner or label in the name of a certificate. */
const MOST_CHARACTERS = 100;
/** Names of users, and hosts, as machines have them: no commas, which would separate several names. */
const USER = /^[A-Za-z0-9_][\w.@\\+-]*\$?$/;
const HOST = /^[A-Za-z0-9[][\w.:%\]-]*$/;

/**
 * For whom a certificate of a node is: its user, or `USER@HOST`.
 * @returns `undefined`: it is not reached with SSH, or its user or host has a name that no machine has
 */
export function principalOf(node: NodeRecord, mode: CertificateMode): string | undefined {
  const { address = '', username, connectionType } = connectionDetails(node);
  if (connectionType !== 'ssh' || username === null || !USER.test(username)) return undefined;
  if (mode === 'user') return username;
  return HOST.test(address) ? `${username}@${address}` : undefined;
}

/** What the log of a host shows of a certificate, in one line of printable ASCII: lease, owner and label. */
export function keyIdOf({ id, owner }: Pick<LeaseRecord, 'id' | 'owner'>, label: string): string {
  return `lease=${quoted(id)} owner=${quoted(owner)} label=${quoted(label)}`;
}

/** Other characters than letters, digits and a few signs become `%XX`, as in addresses of the web. */
function quoted(text: string): string {
  const bytes = Buffer.from(text).toString('latin1');
  const escaped = bytes.replace(/[^\w.@+-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return escaped.slice(0, MOST_CHARACTERS);
}
