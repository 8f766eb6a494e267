import { randomUUID } from 'node:crypto';

/** Separates the participant's uuid from the server's number, in every implementation. */
const MARK = '__lock__';

/** Entry of a contender. */
const CONTENDER = /__lock__-?(\d{10})$/;
/** Entries considered by a forced unlock: any with a sequence number, of any recipe. */
const NUMBERED = /(\d{10})$/;

/** A random id of 32 hexadecimal digits, as used by locks, builds and events. */
export function uuidHex(): string {
  return randomUUID().replaceAll('-', '');
}

/** Name of a new lock entry before the server appends its number: `<32 hex>__lock__`. */
export function newLockEntryPrefix(): string {
  return uuidHex() + MARK;
}

/** A parsed lock entry. */
export interface LockEntry {
  readonly name: string;
  /** Position in the queue; the lowest holds the lock. */
  readonly sequence: number;
}

/** Parses the name of a lock entry; `undefined` if it is not a contender. */
export function parseLockEntry(name: string): LockEntry | undefined {
  const match = CONTENDER.exec(name);
  return match === null ? undefined : { name, sequence: Number(match[1]) };
}

/** Names of the contenders, the holder first. */
export function sortContenders(children: readonly string[]): string[] {
  const entries: LockEntry[] = [];
  for (const name of children) {
    const entry = parseLockEntry(name);
    if (entry !== undefined) entries.push(entry);
  }
  return entries.sort((a, b) => a.sequence - b.sequence).map((entry) => entry.name);
}

/** The contender directly before `own`; `undefined` if `own` is first and holds the lock. */
export function findPredecessor(children: readonly string[], own: string): string | undefined {
  const sequence = parseLockEntry(own)?.sequence ?? Infinity;
  let best: LockEntry | undefined;
  for (const name of children) {
    const entry = parseLockEntry(name);
    if (entry === undefined || entry.sequence >= sequence) continue;
    if (best === undefined || entry.sequence > best.sequence) best = entry;
  }
  return best?.name;
}

/** The entry with the lowest number, which a forced unlock removes; `undefined` if there is none. */
export function findForceUnlockTarget(children: readonly string[]): string | undefined {
  let target: string | undefined;
  let lowest = Infinity;
  for (const name of children) {
    const match = NUMBERED.exec(name);
    if (match === null || Number(match[1]) >= lowest) continue;
    lowest = Number(match[1]);
    target = name;
  }
  return target;
}
