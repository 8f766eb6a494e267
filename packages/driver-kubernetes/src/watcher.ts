import { isNodepoolError, ProviderUnavailableError, SILENT_READER, type Clock, type Logger } from '@nodepool/core';
import { backoffMs, delay, steadyNow } from '@nodepool/zk-protocol';
import type { ApiObject, ApiStatus } from './api.js';
import { READERS, type KubernetesClient, type Selection, type Watched } from './client.js';
import { errorOfAnswer, ExpiredError } from './errors.js';

/** Options of a {@link Watcher}. */
export interface WatcherOptions<Kind extends keyof Watched> {
  readonly client: Pick<KubernetesClient, 'list' | 'watch'>;
  readonly selection: Selection<Kind>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Number in [0, 1). */
  readonly random: () => number;
  /** Whether a watch continues from a version. Otherwise each begins with a list. */
  readonly isResumable: boolean;
  /** Reports each result of a list, and each failure of a watch. */
  readonly answered: (error: Error | undefined) => void;
  /** The watch was refused or, without an error, is open. @returns whether lists will do instead */
  readonly refused: (error: unknown) => boolean;
}

/** Why changes do not arrive at present. */
export interface WatchFailure {
  readonly error: Error;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
}

/** A change of one object. */
export interface Change<T> {
  readonly object: T;
  readonly isGone: boolean;
}

/** Where watches are refused, lists are taken so often. */
const POLL_MS = 5_000;
/** Watches that end at once are not repeated more often. */
const SHORTEST_MS = 1_000;
const RETRY = { firstMs: 500, longestMs: 30_000 };

/**
 * The objects of one selection, kept current by a watch. Continues a watch that breaks; lists again when its version has expired,
 * and reports what changed meanwhile.
 */
export class Watcher<Kind extends keyof Watched> {
  readonly #options: WatcherOptions<Kind>;
  readonly #listener: (change: Change<Watched[Kind]>) => void;
  #objects = new Map<string, Watched[Kind]>();
  /** For each list on its way: objects that changed since it began, of which it may show an older state. */
  readonly #newer = new Set<Set<string>>();
  readonly #end = new AbortController();
  #version: string | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;
  #failure: WatchFailure | undefined;
  #polls = false;

  /** @param listener - called with each change */
  constructor(options: WatcherOptions<Kind>, listener: (change: Change<Watched[Kind]>) => void) {
    this.#options = options;
    this.#listener = listener;
  }

  /** Why changes do not arrive; `undefined`: they do. */
  get failure(): WatchFailure | undefined {
    return this.#failure;
  }

  /** Whether lists are taken instead, as watches are refused: what was seen last may be old. */
  get polls(): boolean {
    return this.#polls;
  }

  /** The objects as last seen. */
  get objects(): readonly Watched[Kind][] {
    return [...this.#objects.values()];
  }

  /** Lists the objects, then keeps watching. Rejects if the first list fails; safe to call again. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#version === undefined) await this.list(signal);
    this.#running ??= this.#run(this.#end.signal);
  }

  /** Lists the objects now, and reports changes. */
  async list(signal: AbortSignal): Promise<readonly Watched[Kind][]> {
    const { client, selection, answered } = this.#options;
    const newer = new Set<string>();
    this.#newer.add(newer);
    try {
      const { version, items } = await client.list(selection, signal);
      this.#replace(items, newer);
      this.#version ??= version;
      answered(undefined);
      return this.objects;
    } catch (error) {
      if (!signal.aborted) answered(asError(error));
      throw error;
    } finally {
      this.#newer.delete(newer);
    }
  }

  /** Ends the watch. */
  async stop(): Promise<void> {
    this.#end.abort(new Error('the provider stops'));
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, answered, selection, isResumable } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.list(signal);
        const beganMs = steadyNow(clock);
        await this.#watch(this.#version ?? '', signal);
        this.#failure = undefined;
        this.#opened();
        if (!isResumable) this.#version = undefined;
        if (steadyNow(clock) - beganMs < SHORTEST_MS) await delay(clock, SHORTEST_MS, signal).catch(() => undefined);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#options.refused(error)) {
          await this.#pollLater(error, signal);
          continue;
        }
        const isExpired = error instanceof ExpiredError;
        if (isExpired || !isResumable || isNodepoolError(error, 'NODEPOOL_CONFIG')) this.#version = undefined;
        answered(isExpired ? undefined : asError(error));
        const pauseMs = isExpired && this.#failures === 0 ? 0 : backoffMs(this.#failures, RETRY, random);
        this.#failures++;
        if (!isExpired) this.#failed(asError(error));
        const level = isExpired ? 'debug' : 'warn';
        logger[level]('Watch ended; continuing', { kind: selection.kind, pauseMs, error });
        await delay(clock, pauseMs, signal).catch(() => undefined); // the loop ends with the signal
      }
    }
  }

  /** The next round begins with a list. */
  async #pollLater(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, logger, selection } = this.#options;
    if (!this.#polls) logger.info('Watches are refused; taking lists instead', { kind: selection.kind, error });
    this.#polls = true;
    this.#failure = undefined;
    this.#version = undefined;
    await delay(clock, POLL_MS, signal).catch(() => undefined); // the loop ends with the signal
  }

  #opened(): void {
    if (!this.#polls) return;
    this.#polls = false;
    this.#options.refused(undefined);
  }

  async #watch(version: string, signal: AbortSignal): Promise<void> {
    const { client, selection } = this.#options;
    for await (const { type, object } of client.watch(selection, version, signal)) {
      if (type === 'ERROR') throw errorOf(selection.kind, object as ApiStatus);
      this.#failures = 0;
      this.#failure = undefined;
      this.#opened();
      this.#version = (object as Partial<ApiObject> | null)?.metadata?.resourceVersion ?? this.#version;
      if (type !== 'BOOKMARK' && this.#isReadable(object)) this.#apply(object, type === 'DELETED');
    }
    signal.throwIfAborted();
  }

  /** The next list reports what cannot be read. */
  #isReadable(object: Watched[Kind]): boolean {
    const { logger, selection } = this.#options;
    const isReadable =
      SILENT_READER.readEach<unknown>({ kind: selection.kind }, [object], READERS[selection.kind]).length > 0;
    if (!isReadable) logger.debug('A change of an object cannot be read', { kind: selection.kind });
    return isReadable;
  }

  #failed(error: Error): void {
    const nowMs = this.#options.clock.now();
    this.#failure = { error, sinceMs: this.#failure?.sinceMs ?? nowMs, lastSeenMs: nowMs };
  }

  #replace(items: readonly Watched[Kind][], newer: ReadonlySet<string>): void {
    const listed = new Map(items.map((item) => [keyOf(item), item]));
    for (const [key, object] of [...this.#objects]) {
      if (!listed.has(key) && !newer.has(key)) this.#apply(object, true);
    }
    for (const [key, item] of listed) {
      if (newer.has(key)) continue;
      const known = this.#objects.get(key);
      if (known?.metadata.resourceVersion !== item.metadata.resourceVersion) this.#apply(item, false);
    }
  }

  #apply(object: Watched[Kind], isGone: boolean): void {
    const key = keyOf(object);
    for (const changed of this.#newer) changed.add(key);
    if (isGone) this.#objects.delete(key);
    else this.#objects.set(key, object);
    this.#listener({ object, isGone });
  }
}

function keyOf({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** An error that the server sends as an event. */
function errorOf(kind: string, body: ApiStatus): Error {
  const status = body.code ?? 500;
  const error = errorOfAnswer(`watch of ${kind}`, { status, body });
  return error instanceof Error ? error : new ProviderUnavailableError(`watch of ${kind}: ${String(error)}`);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
