import { systemClock } from '../base/clock.js';
import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { orAbort } from '../base/or-abort.js';
import { LockLostError, LockTimeoutError } from './errors.js';
import { findForceUnlockTarget, sortContenders } from './lock-entries.js';
import { LockQueue } from './lock-queue.js';
import { LockWatch } from './lock-watch.js';

/** How a {@link ZkLock} behaves. */
export interface ZkLockOptions {
  /** Shown to others as the holder. @default '' */
  readonly identifier?: string | undefined;
  /** `false`: the lock outlives the session, and only `release` or a forced unlock ends it. @default true */
  readonly ephemeral?: boolean | undefined;
  /** @default the machine's clock */
  readonly clock?: Clock | undefined;
  /**
   * How long ZooKeeper may be out of reach before {@link ZkLock.lost} fires. Must be shorter than the session timeout.
   * @default 6000, for the default session timeout of 10 s, and the `serverPauseMs` of the connection
   */
  readonly safeSuspendedMs?: number | undefined;
}

/** How one acquire behaves. */
export interface AcquireOptions {
  /** `false`: answer at once. @default true */
  readonly blocking?: boolean | undefined;
  /** @default no limit */
  readonly timeoutMs?: number | undefined;
  /** Gives up waiting; the own entry is taken out of the queue. Has no effect once the lock is held. */
  readonly signal?: AbortSignal | undefined;
}

/** Who holds a lock. */
export interface LockHolder {
  /** Path of the holder's entry. */
  readonly entryPath: string;
  readonly identifier: string;
}

const DEFAULT_SAFE_SUSPENDED_MS = 6000;
/** How long giving up may take to clean up before the caller gets the answer. */
const LEAVE_PATIENCE_MS = 1000;

/**
 * Exclusive lock on a path, as kazoo and so Zuul and Nodepool take it. Not re-entrant: while the lock is held or waited
 * for, another acquire on the same object waits its turn too.
 */
export class ZkLock {
  readonly #zk: ZooKeeper;
  readonly #clock: Clock;
  readonly #ephemeral: boolean;
  readonly #safeSuspendedMs: number;
  readonly #queue: LockQueue;
  #watch: LockWatch | undefined;
  #lost: AbortSignal;
  #held = false;
  /** Own entry that was seen to vanish; it may be the one just obtained. */
  #goneEntry: string | undefined;
  /** Resolves when the acquire or hold before has ended; an in-process queue. */
  #turn: Promise<void> | undefined;
  #endTurn: () => void = () => {};

  constructor(
    zk: ZooKeeper,
    readonly root: string,
    options: ZkLockOptions = {},
  ) {
    const { identifier = '', ephemeral = true, clock = systemClock } = options;
    this.#zk = zk;
    this.#clock = clock;
    this.#ephemeral = ephemeral;
    this.#safeSuspendedMs = options.safeSuspendedMs ?? DEFAULT_SAFE_SUSPENDED_MS + zk.serverPauseMs;
    const onEntryGone = (entryPath: string) => this.#onEntryGone(entryPath);
    this.#queue = new LockQueue(zk, root, { identifier, ephemeral, clock, onEntryGone });
    this.#lost = AbortSignal.abort(new LockLostError(root, 'it was never obtained'));
  }

  /** True from a successful acquire to release or loss. */
  get held(): boolean {
    return this.#held && !this.#lost.aborted;
  }

  /**
   * Fires when the lock obtained last may be somebody else's: session over, connection away for too long, or entry
   * deleted. Not by `release`. The reason is a {@link LockLostError}. Still call `release` afterwards.
   */
  get lost(): AbortSignal {
    return this.#lost;
  }

  /** Path of the own entry, while there is one. */
  get entryPath(): string | undefined {
    return this.#queue.entryPath;
  }

  /**
   * @returns true when the lock is held; false only with `blocking: false`, when another process has it
   * @throws {LockTimeoutError} not obtained within `timeoutMs`
   * @throws the signal's reason when aborted; ZooKeeper errors other than a broken connection, which is waited out
   */
  async acquire(options: AcquireOptions = {}): Promise<boolean> {
    const { blocking = true, timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const cancelTimer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.setTimer(timeoutMs, () => stop.abort(new LockTimeoutError(this.root, timeoutMs)));
    try {
      return await this.#acquireInTurn(blocking, stop.signal);
    } finally {
      cancelTimer?.();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #acquireInTurn(blocking: boolean, stop: AbortSignal): Promise<boolean> {
    while (this.#turn !== undefined) {
      if (!blocking) return false;
      await orAbort(this.#turn, stop);
    }
    this.#turn = new Promise((resolve) => {
      this.#endTurn = () => {
        this.#turn = undefined;
        resolve();
      };
    });
    const attempt = this.#queue.enter(blocking, stop).then(
      (obtained) => this.#finishAttempt(obtained),
      (error: unknown) => {
        this.#finishAttempt(false);
        throw error;
      },
    );
    return this.#awaitAttempt(attempt, stop);
  }

  /** A stopped attempt first takes its entry out of the queue, but when that takes long it does so behind our back. */
  async #awaitAttempt(attempt: Promise<boolean>, stop: AbortSignal): Promise<boolean> {
    const patience = new AbortController();
    let cancelTimer = () => {};
    const onStop = () => {
      cancelTimer = this.#clock.setTimer(LEAVE_PATIENCE_MS, () => patience.abort(stop.reason));
    };
    stop.addEventListener('abort', onStop, { once: true });
    if (stop.aborted) onStop();
    try {
      return await orAbort(attempt, patience.signal);
    } catch (error) {
      if (patience.signal.aborted) this.#releaseLate(attempt);
      throw error;
    } finally {
      stop.removeEventListener('abort', onStop);
      cancelTimer();
    }
  }

  #releaseLate(attempt: Promise<boolean>): void {
    const release = async () => {
      if (await attempt) await this.release();
    };
    // The caller has an answer already; an entry that cannot be deleted ends with the session.
    release().catch(() => {});
  }

  #finishAttempt(obtained: boolean): boolean {
    if (!obtained) {
      this.#endTurn();
      return false;
    }
    const watch = new LockWatch(this.#zk, {
      root: this.root,
      ephemeral: this.#ephemeral,
      clock: this.#clock,
      safeSuspendedMs: this.#safeSuspendedMs,
    });
    this.#watch = watch;
    this.#lost = watch.signal;
    this.#held = true;
    if (this.#goneEntry === this.entryPath) watch.entryDeleted();
    return true;
  }

  #onEntryGone(entryPath: string): void {
    this.#goneEntry = entryPath;
    if (entryPath === this.entryPath) this.#watch?.entryDeleted();
  }

  /** Gives the lock back. Fine when it is lost or was never obtained. Waits for the connection if need be. */
  async release(): Promise<void> {
    if (!this.#held) return;
    this.#held = false;
    this.#watch?.stop();
    this.#watch = undefined;
    try {
      await this.#queue.leave();
    } finally {
      this.#endTurn();
    }
  }

  /** Identifiers of everybody in the queue, the holder first; blank where none was given. */
  async contenders(): Promise<string[]> {
    return (await readContenders(this.#zk, this.root)).map(({ identifier }) => identifier);
  }

  /** Takes the lock away from whoever holds it. @returns false when it was free */
  static async forceUnlock(zk: ZooKeeper, root: string): Promise<boolean> {
    const target = findForceUnlockTarget(await listEntries(zk, root));
    if (target === undefined) return false;
    try {
      await zk.delete(`${root}/${target}`);
      return true;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return false;
      throw error;
    }
  }

  /** Who holds the lock; `undefined` when it is free. */
  static async lockHolder(zk: ZooKeeper, root: string): Promise<LockHolder | undefined> {
    return (await readContenders(zk, root))[0];
  }
}

async function listEntries(zk: ZooKeeper, root: string): Promise<string[]> {
  try {
    return await zk.getChildren(root);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}

async function readContenders(zk: ZooKeeper, root: string): Promise<LockHolder[]> {
  const paths = sortContenders(await listEntries(zk, root)).map((name) => `${root}/${name}`);
  if (paths.length === 0) return [];
  const holders: LockHolder[] = [];
  for (const result of await zk.multiRead(paths.map((path) => ({ read: 'data', path })))) {
    if (result.read === 'data') holders.push({ entryPath: result.path, identifier: result.data.toString('utf8') });
    else if (result.read === 'error' && !isZooKeeperError(result.error, 'ZK_NO_NODE')) throw result.error;
  }
  return holders;
}
