const PREFIX = 'uid:';

/**
 * Owner of the leases of a user of a launcher's computer, who has no token. With the name of the computer, as the same number is
 * another user elsewhere.
 */
export function localOwner(uid: number, hostname: string): string {
  return `${PREFIX}${uid}@${hostname}`;
}

/** Whether an owner is a user of a launcher's computer, or would look like one: no token may have such an owner. */
export function isLocalOwner(owner: string): boolean {
  return owner.startsWith(PREFIX);
}
