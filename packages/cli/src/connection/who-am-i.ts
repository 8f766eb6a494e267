import { hostname, userInfo } from 'node:os';

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // Containers often run ids that have no name.
  }
}

/** User and process, stored in the locks and nodes that a command holds: `user@host (nodepool, pid 42)`. */
export function whoAmI(): string {
  return `${userName()}@${hostname()} (nodepool, pid ${process.pid})`;
}

/** Requestor of the requests of this user: stable per user and machine, without blanks. */
export function requestorName(): string {
  return `NodePool:cli:${userName().replaceAll(/\s/g, '_')}@${hostname()}`;
}

/** The user, as shown to others: `user@host`. */
export function personName(): string {
  return `${userName()}@${hostname()}`;
}
