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

/** Every type that is asked for, in the order in which keys are returned. */
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
 * The types worth a connection: those wanted that the server has, in the order wanted. The RSA types are signatures
 * with one and the same key, so only the first of them is kept.
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
