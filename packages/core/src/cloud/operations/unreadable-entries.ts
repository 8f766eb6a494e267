import { isMap, steadyNow, type Clock, type Json } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { Logger } from '../../contract/logger.js';

/** What lists of a cloud may have. */
export const CONDITIONS = {
  UnreadableEntries: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'lists of a cloud have entries that are empty, half filled or of a wrong type; they are left out and neither used nor deleted; all others work',
    reasons: { Unreadable: 'the message has their number, their kinds and, where they are known, their ids' },
    nextStep:
      'look at these with the tools of the cloud, and repair or delete them; a reload reads all lists at once, else some are read after an hour',
  },
} as const satisfies ConditionTypes;

/** The list that entries are of. */
export interface ListName {
  /** Plural of what is listed: `servers`. Lists of instances without a part are called {@link INSTANCES}. */
  readonly kind: string;
  /** The part of all entries that was asked for, such as a zone. Default: all. */
  readonly part?: string | undefined;
}

/** Reads lists of a cloud entry by entry. */
export interface EntryReader {
  /**
   * What could be read of a list. Reports the other entries of it until the list can be read again.
   * @param read - returns `undefined`, or throws, for an entry that cannot be read
   */
  readEach<T>(list: ListName, entries: readonly unknown[], read: (entry: unknown) => T | undefined): T[];
  /** Whether an entry that could not be read may be that of this id. */
  mayHide(kind: string, id: string): boolean;
}

/** The entries of a list that could not be read. */
interface Unread {
  readonly kind: string;
  readonly isPart: boolean;
  /** Those that say so much. */
  readonly ids: ReadonlySet<string>;
  readonly nameless: number;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
  readonly steadyMs: number;
}

/** Name of lists of instances. */
export const INSTANCES = 'instances';
/** Parts may never be asked for again. */
const FORGOTTEN_MS = 900_000;
/** As many ids are named. */
const MOST_IDS = 5;
const ID = /^[\w.:/@-]{1,128}$/;

/** Reads each entry of a list by itself. @returns what could be read, and the entries that could not */
export function readEach<T>(
  entries: readonly unknown[],
  read: (entry: unknown) => T | undefined,
): { readonly found: T[]; readonly unread: unknown[] } {
  const found: T[] = [];
  const unread: unknown[] = [];
  for (const entry of entries) {
    const value = attempt(read, entry);
    if (value === undefined) unread.push(entry);
    else found.push(value);
  }
  return { found, unread };
}

/** Reads entry by entry, without a report. */
export const SILENT_READER: EntryReader = {
  readEach: (_list, entries, read) => readEach(entries, read).found,
  mayHide: () => false,
};

/** The entries in the lists of a provider that cannot be read now. They are left out, and left alone. */
export class UnreadableEntries implements EntryReader {
  readonly #provider: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #unread = new Map<string, Unread>();

  constructor(provider: string, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#provider = provider;
    this.#clock = clock;
    this.#logger = logger;
  }

  readEach<T>(list: ListName, entries: readonly unknown[], read: (entry: unknown) => T | undefined): T[] {
    const { found, unread } = readEach(entries, read);
    this.#note(list, unread);
    return found;
  }

  mayHide(kind: string, id: string): boolean {
    return this.#current().some((one) => one.kind === kind && (one.nameless > 0 || one.ids.has(id)));
  }

  /** What cannot be read now, as a condition of the provider. */
  get conditions(): FoundCondition[] {
    const current = this.#current();
    // what parts have is also in the whole
    const whole = new Set(current.flatMap(({ kind, isPart }) => (isPart ? [] : [kind])));
    const all = current.filter(({ kind, isPart }) => !isPart || !whole.has(kind));
    if (all.length === 0) return [];
    const kinds = [...new Set(all.map(({ kind }) => kind))].sort();
    const counts = kinds.map((kind) => describe(kind, all));
    return [
      newCondition(CONDITIONS, 'UnreadableEntries', {
        ...{ name: this.#provider, reason: 'Unreadable' },
        message: `the cloud lists what cannot be read, so that it is not changed: ${counts.join('; ')}`,
        nextStep:
          'look at these with the tools of the cloud, and repair or delete them; a reload reads all lists at once',
        evidence: { count: countOf(all), kinds: kinds.join(', ') },
        sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)),
        lastSeenMs: Math.max(...all.map(({ lastSeenMs }) => lastSeenMs)),
      }),
    ];
  }

  #note({ kind, part }: ListName, unread: readonly unknown[]): void {
    const key = JSON.stringify([kind, part]);
    const before = this.#unread.get(key);
    if (unread.length === 0) {
      if (this.#unread.delete(key)) this.#logger.info('All entries of a list can be read again', { kind, part });
      return;
    }
    const known = unread.flatMap((entry) => idOf(entry) ?? []);
    const nowMs = this.#clock.now();
    const now: Unread = {
      ...{ kind, isPart: part !== undefined, ids: new Set(known), nameless: unread.length - known.length },
      ...{ sinceMs: before?.sinceMs ?? nowMs, lastSeenMs: nowMs, steadyMs: steadyNow(this.#clock) },
    };
    this.#unread.set(key, now);
    if (before && isSame(before, now)) return;
    const fields = { kind, part, count: countOf([now]), ids: [...now.ids].slice(0, MOST_IDS) };
    this.#logger.warn('Some entries of a list cannot be read; they are left out, and left alone', fields);
  }

  #current(): Unread[] {
    const oldestMs = steadyNow(this.#clock) - FORGOTTEN_MS;
    for (const [key, { isPart, steadyMs }] of this.#unread) {
      if (isPart && steadyMs < oldestMs) this.#unread.delete(key);
    }
    return [...this.#unread.values()];
  }
}

function attempt<T>(read: (entry: unknown) => T | undefined, entry: unknown): T | undefined {
  try {
    return read(entry);
  } catch {
    return undefined;
  }
}

/** What an entry that cannot be read says of its identity. */
function idOf(entry: unknown): string | undefined {
  const map = entry as Json | undefined;
  if (!isMap(map)) return undefined;
  const { externalId, id, name, metadata } = map;
  const named = isMap(metadata) ? metadata['name'] : undefined;
  return [externalId, id, name, named].find((one): one is string => typeof one === 'string' && ID.test(one));
}

function isSame(one: Unread, other: Unread): boolean {
  return (
    one.nameless === other.nameless && one.ids.size === other.ids.size && [...one.ids].every((id) => other.ids.has(id))
  );
}

function countOf(all: readonly Unread[]): number {
  return all.reduce((sum, { ids, nameless }) => sum + ids.size + nameless, 0);
}

function describe(kind: string, all: readonly Unread[]): string {
  const those = all.filter((one) => one.kind === kind);
  const ids = those.flatMap((one) => [...one.ids].slice(0, MOST_IDS)).slice(0, MOST_IDS);
  const count = countOf(those);
  const more = count > ids.length ? ', ...' : '';
  return `${count} of the ${kind}${ids.length === 0 ? '' : ` (${ids.join(', ')}${more})`}`;
}
