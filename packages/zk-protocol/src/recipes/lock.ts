import { systemClock } from '../base/clock.js';
import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { orAbort } from '../base/or-abort.js';
import { LockLostError, LockTimeoutError } from './errors.js';
import { findForceUnlockTarget, sortContenders } from './lock-entries.js';
import { LockQueue } from './lock-queue.js';
import { LockWatch } from './lock-watch.js';

/** Settings of a {@link ZkLock}. */
export interface ZkLockOptions {
  /** Identifies the holder to other processes. @default '' */
  readonly identifier?: string | undefined;
  /** False makes a lock that outlives the session, until `release` or a forced unlock. @default true */
  readonly ephemeral?: boolean | undefined;
  /** @default the system clock */
  readonly clock?: Clock | undefined;
  /**
   * How long ZooKeeper may be unreachable before {@link ZkLock.lost} is aborted. Must be shorter than the session timeout.
   * @default 6000, for the default session timeout of 10 s, and the `serverPauseMs` of the connection
   */
  readonly safeSuspendedMs?: number | undefined;
}

/** Settings of {@link ZkLock.acquire}. */
export interface AcquireOptions {
  /** False returns at once if the lock is held. @default true */
  readonly blocking?: boolean | undefined;
  /** @default no limit */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait and removes the own entry. Has no effect once the lock is held. */
  readonly signal?: AbortSignal | undefined;
}

/** Holder of a lock. */
export interface LockHolder {
  /** Path of the holder's entry. */
  readonly entryPath: string;
  readonly identifier: string;
}

const DEFAULT_SAFE_SUSPENDED_MS = 6000;
/** How long an aborted acquire may take to remove its entry before it rejects. */
const LEAVE_PATIENCE_MS = 1000;

/**
 * Exclusive lock on a path, compatible with kazoo, and so with Zuul and Nodepool. Not re-entrant: while the lock is held or
 * awaited, another acquire on the same object waits too.
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
  /** In-process queue: resolves when the previous acquire or hold has ended. */
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
    this.#lost = AbortSignal.abort(new LockLostError(root, 'it was never acquired'));
  }

  /** True from a successful acquire to release or loss. */
  get held(): boolean {
    return this.#held && !this.#lost.aborted;
  }

  /**
   * Aborted when another process may hold the lock: the session ended, the connection was down for too long, or the entry was
   * deleted. Not aborted by `release`. The reason is a {@link LockLostError}. Call `release` afterwards.
   */
  get lost(): AbortSignal {
    return this.#lost;
  }

  /** Path of the own entry; `undefined` if there is none. */
  get entryPath(): string | undefined {
    return this.#queue.entryPath;
  }

  /**
   * @returns true if the lock is held; false only with `blocking: false`, if another process holds it
   * @throws {LockTimeoutError} not acquired within `timeoutMs`
   * @throws the signal's reason when aborted; ZooKeeper errors other than a broken connection, which is retried
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

  /** An aborted attempt removes its entry before it rejects; if that takes long, it continues in the background. */
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
    // The call has rejected already; an entry that cannot be deleted ends with the session.
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
    if (this.#queue.isEntryGone) watch.entryDeleted();
    return true;
  }

  #onEntryGone(entryPath: string): void {
    if (entryPath === this.entryPath) this.#watch?.entryDeleted();
  }

  /** Releases the lock; does nothing if it was lost or never acquired. Waits for the connection if necessary. */
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

  /** Identifiers of all contenders, the holder first; empty where none was given. */
  async contenders(): Promise<string[]> {
    return (await readContenders(this.#zk, this.root)).map(({ identifier }) => identifier);
  }

  /** Deletes the entry of the current holder. @returns false if the lock was free */
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

  /** Holder of the lock; `undefined` if it is free. */
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
