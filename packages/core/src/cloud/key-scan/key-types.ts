/** A host key algorithm as SSH names it. */
export type KeyType =
  | 'ssh-ed25519'
  | 'ecdsa-sha2-nistp256'
  | 'ecdsa-sha2-nistp384'
  | 'ecdsa-sha2-nistp521'
  | 'rsa-sha2-512'
  | 'rsa-sha2-256'
  | 'ssh-rsa'
  | 'ssh-dss';

/** All requested types, in the order of the returned keys. */
export const KEY_TYPES: readonly KeyType[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
  'ssh-rsa',
  'ssh-dss',
];

const RSA_TYPES: ReadonlySet<string> = new Set(['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa']);

/**
 * The types to connect for: the requested types that the server has, in the requested order. The RSA types are signatures of the
 * same key, so only the first is kept.
 */
export function typesToScan(wanted: readonly KeyType[], offered: readonly string[]): KeyType[] {
  let hasRsa = false;
  return wanted.filter((type) => {
    if (!offered.includes(type)) return false;
    if (!RSA_TYPES.has(type)) return true;
    const isFirstRsa = !hasRsa;
    hasRsa = true;
    return isFirstRsa;
  });
}
