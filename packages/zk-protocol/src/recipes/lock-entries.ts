import { randomUUID } from 'node:crypto';

/** What every participant puts between its own uuid and the server's number. */
const MARK = '__lock__';

/** An entry of a lock directory that takes part in the lock. */
const CONTENDER = /__lock__-?(\d{10})$/;
/** What a forced unlock looks at: any entry ending in a sequence number, of whatever recipe. */
const NUMBERED = /(\d{10})$/;

/** 32 hexadecimal digits, as locks, builds and events use them. */
export function uuidHex(): string {
  return randomUUID().replaceAll('-', '');
}

/** Name of a new lock entry before the server appends its number: `<32 hex>__lock__`. */
export function newLockEntryPrefix(): string {
  return uuidHex() + MARK;
}

/** A lock entry taken apart. */
export interface LockEntry {
  readonly name: string;
  /** Place in the queue: the smallest holds the lock. */
  readonly sequence: number;
}

/** Takes a lock entry's name apart; `undefined` when it does not take part in the lock. */
export function parseLockEntry(name: string): LockEntry | undefined {
  const match = CONTENDER.exec(name);
  return match === null ? undefined : { name, sequence: Number(match[1]) };
}

/** The names that take part in the lock, the holder first. */
export function sortContenders(children: readonly string[]): string[] {
  const entries: LockEntry[] = [];
  for (const name of children) {
    const entry = parseLockEntry(name);
    if (entry !== undefined) entries.push(entry);
  }
  return entries.sort((a, b) => a.sequence - b.sequence).map((entry) => entry.name);
}

/** The contender directly before `own`; `undefined` when `own` comes first and so holds the lock. */
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

/** The entry a forced unlock removes: the one with the lowest number; `undefined` when there is none. */
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
