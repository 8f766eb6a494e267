import { hostname, userInfo } from 'node:os';

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // Containers often run ids that have no name.
  }
}

/** This person and process, as shown to others who meet what it holds: `user@host (nodepool, pid 42)`. */
export function whoAmI(): string {
  return `${userName()}@${hostname()} (nodepool, pid ${process.pid})`;
}

/** Requestor of our requests: stable per person and machine, and without blanks. */
export function requestorName(): string {
  return `NodePool:cli:${userName().replaceAll(/\s/g, '_')}@${hostname()}`;
}

/** This person, as others know them: `user@host`. */
export function personName(): string {
  return `${userName()}@${hostname()}`;
}
