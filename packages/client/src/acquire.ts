import { randomUUID } from 'node:crypto';
import { hasRoomSoon, type LeaseCalls } from './calls.js';
import { LeaseOverError, RefusedError } from './errors.js';
import { Lease } from './lease.js';
import { nowMs, orAbort, pause } from './pause.js';
import type { LeaseInfo } from './types.js';

/** Time to live of a lease that is renewed: nodes of a killed process are returned after it. */
const RENEWED_TTL_MS = 180_000;
const TTL_MS = 3_600_000;
/** A shorter one would be lost when the server is busy. */
const SHORTEST_TTL_MS = 10_000;
/** A waiting lease keeps its place while a launcher restarts. */
const WAITING_RETRY_MS = 300_000;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 15_000;
/** How often it is requested again while nodes of earlier leases are being deleted. */
const ROOM_MS = 1_000;
/** How long a cancelled lease may take to be ended, before it is left to end by itself. */
const CANCEL_MS = 2_000;

/** How to lease nodes. */
export interface LeaseOptions {
  /**
   * Renew it until it is released, or this process ends: the nodes of a killed process are returned {@link ttlMs} later. With
   * `false`, it lasts for {@link ttlMs} from the moment it is active, whatever happens to this process. Default `true`.
   */
  readonly renew?: boolean;
  /** Time to live; default 3 minutes, and 1 hour with `renew: false`. */
  readonly ttlMs?: number;
  /** End it if it is not active after this time; default: wait without a limit, with `renew: false` for a day. */
  readonly giveUpMs?: number;
  /** For people. */
  readonly reason?: string;
  /** 100 high, 200 normal (default), 300 low. */
  readonly priority?: number;
  /** Default: the owner of the token; another needs an admin token. */
  readonly owner?: string;
  /** Public key, one line of an OpenSSH `.pub` file, if the labels support it: each node gets a certificate of it. */
  readonly sshKey?: string;
  /** Ends the wait, with its reason. */
  readonly signal?: AbortSignal;
  /** Called while it waits, at least every 15 s. */
  readonly onProgress?: (lease: LeaseInfo) => void;
  /** Called after each renewal, which brings fresh certificates. */
  readonly onRenewed?: (lease: LeaseInfo) => void;
  /** Called when the server refuses to renew it; it will expire, and be lost then. */
  readonly onRefused?: (error: Error) => void;
}

/** How a lease is requested and kept; the defaults filled in. */
class Wish {
  readonly renew: boolean;
  ttlMs: number;
  /** When it was requested last. */
  requestedMs = nowMs();
  readonly #giveUpMs: number;

  constructor(
    readonly labels: readonly string[],
    readonly options: LeaseOptions,
  ) {
    this.renew = options.renew ?? true;
    this.ttlMs = options.ttlMs ?? (this.renew ? RENEWED_TTL_MS : TTL_MS);
    this.#giveUpMs = nowMs() + (options.giveUpMs ?? Infinity);
  }

  /** How long the lease waits without a sign of this process. */
  get waitsMs(): number {
    return Math.max(1, Math.min(this.renew ? this.ttlMs : Infinity, this.#giveUpMs - nowMs()));
  }

  get hasTime(): boolean {
    return nowMs() < this.#giveUpMs;
  }

  get body(): object {
    const { reason, priority, owner, sshKey } = this.options;
    const { waitsMs } = this;
    return {
      ...{ labels: this.labels, ttl: this.ttlMs / 1000 },
      ...(waitsMs < Infinity && { give_up: waitsMs / 1000 }),
      ...(reason !== undefined && { reason }),
      ...(priority !== undefined && { priority }),
      ...(owner !== undefined && { owner }),
      ...(sshKey !== undefined && { ssh_key: sshKey }),
    };
  }
}

/** Requests a lease, and waits until it is active. See `NodepoolClient.lease`. */
export async function acquire(calls: LeaseCalls, labels: readonly string[], options: LeaseOptions): Promise<Lease> {
  const { signal } = options;
  signal?.throwIfAborted();
  const wish = new Wish(labels, options);
  // Not cut short by the signal: the answer names the lease that must be ended then.
  const created = create(calls, wish);
  try {
    const requested = await orAbort(created, signal);
    return await waitFor(calls, requested, wish);
  } catch (error) {
    if (!(error instanceof LeaseOverError)) await cancel(calls, created);
    throw error;
  }
}

/** Requests it once there is room. A default time to live is shortened to what the server allows. */
async function create(calls: LeaseCalls, wish: Wish): Promise<LeaseInfo> {
  for (;;) {
    wish.requestedMs = nowMs();
    try {
      return await calls.create(wish.body, randomUUID());
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      if (hasRoomSoon(error) && wish.hasTime) {
        calls.onRetry(error);
        await pause(ROOM_MS, wish.options.signal);
        continue;
      }
      const longestMs = error.longestTtlMs ?? 0;
      if (wish.options.ttlMs !== undefined || longestMs < SHORTEST_TTL_MS || longestMs >= wish.ttlMs) throw error;
      wish.ttlMs = longestMs;
    }
  }
}

async function waitFor(calls: LeaseCalls, requested: LeaseInfo, wish: Wish): Promise<Lease> {
  const { signal, onProgress = () => {}, onRefused = () => {}, onRenewed = () => {} } = wish.options;
  const { renew, ttlMs, requestedMs } = wish;
  let lease = requested;
  let askedMs = requestedMs;
  let renewedMs = requestedMs;
  for (let waitMs = FIRST_WAIT_MS; lease.state === 'waiting'; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    onProgress(lease);
    if (renew && nowMs() - renewedMs > ttlMs / 3) {
      renewedMs = nowMs();
      await calls.renew(lease.id, wish.waitsMs, { signal, retryMs: WAITING_RETRY_MS });
    }
    askedMs = nowMs();
    const limitedMs = Math.min(waitMs, ttlMs / 3);
    lease = await calls.get(lease.id, { waitMs: limitedMs, signal, retryMs: WAITING_RETRY_MS });
  }
  signal?.throwIfAborted();
  if (lease.state === 'active') return new Lease(calls, lease, askedMs, { renew, ttlMs, onRefused, onRenewed });
  const why = lease.endReason ?? 'the server gives no reason';
  const what = `Lease ${lease.id} of ${wish.labels.join(', ')}`;
  if (lease.state === 'failed') throw new LeaseOverError('lease-failed', lease.id, `${what} failed: ${why}`);
  throw new LeaseOverError('lease-ended', lease.id, `${what} ended before it had nodes: ${why}`);
}

/** Ends a lease that is not wanted any more. If that is not possible soon, it ends by itself when it is not renewed. */
async function cancel(calls: LeaseCalls, created: Promise<LeaseInfo>): Promise<void> {
  const ended = created.then(({ id }) => calls.end(id, { retryMs: CANCEL_MS }));
  await Promise.race([ended, pause(CANCEL_MS, undefined, false)]).catch(() => undefined);
}
