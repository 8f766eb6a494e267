import type {
  CancelTimer,
  ComponentCache,
  ComponentRecord,
  LauncherId,
  PoolComponentRecord,
  RequestId,
  RequestRecord,
} from '@nodepool/zk-protocol';
import { coversAll } from '../plan/rules.js';
import type { Context } from '../state/context.js';
import type { PoolChange, RegisteredPools } from './registered-pools.js';

/** So long after its own start a launcher counts on others that start beside it, where anything speaks for others. */
const SETTLING_MS = 10_000;
/** A registered launcher that is not running after this time is not waited for any longer. */
const LONGEST_START_MS = 60_000;
/** A pool that left may be back within this time: its launcher restarts, or gets a new session. */
const RETURN_MS = 30_000;

/**
 * Tells whether pools of other launchers may be missing from the registry, because their launcher starts, restarts or
 * gets a new session. A requestor takes `failed` for final, so no request is given up while one of them could serve it.
 */
export class RegistryOutlook {
  readonly #context: Context;
  readonly #components: ComponentCache;
  readonly #registered: RegisteredPools;
  readonly #own: ReadonlySet<string>;
  /** Registered launchers that have not been running yet. */
  readonly #starting = new Map<string, CancelTimer>();
  /** Launchers that are running, or were waited for long enough. */
  readonly #started = new Set<string>();
  readonly #left = new Map<LauncherId, { readonly pool: PoolComponentRecord; readonly cancel: CancelTimer }>();
  readonly #unsubscribe: (() => void)[];
  /** Until then this launcher itself has yet to see who is there. */
  #hasBegun = false;
  #settling: CancelTimer | undefined;
  /** Requests that were there before this launcher, and so may be meant for others that start as well. */
  #olderRequests: ReadonlySet<RequestId> = new Set();

  /** @param own - ids of pools of this launcher, now or once: what becomes of them is known here */
  constructor(context: Context, components: ComponentCache, registered: RegisteredPools, own: ReadonlySet<string>) {
    this.#context = context;
    this.#components = components;
    this.#registered = registered;
    this.#own = own;
    this.#unsubscribe = [
      components.onChange(({ id, after }) => this.#componentChanged(id, after)),
      registered.onChange((change) => this.#poolChanged(change)),
    ];
  }

  /**
   * This launcher begins to serve. Others that were started at the same time get a moment to register.
   * @param waiting - requests that are there already
   */
  begin(waiting: Iterable<RequestId>): void {
    const { clock, events } = this.#context;
    this.#hasBegun = true;
    this.#olderRequests = new Set(waiting);
    this.#settling = clock.setTimer(SETTLING_MS, () => {
      this.#settling = undefined;
      this.#olderRequests = new Set();
      events.emit('registrySettled', {});
    });
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#settling?.();
    for (const cancel of this.#starting.values()) cancel();
    for (const { cancel } of this.#left.values()) cancel();
  }

  /** Whether every pool of another launcher that could serve the request is registered, as far as can be known. */
  isCompleteFor(request: Pick<RequestRecord, 'id' | 'labels' | 'declinedBy'>): boolean {
    if (!this.#hasBegun || !this.#components.ready || this.#starting.size > 0) return false;
    if (this.#settling && (this.#olderRequests.has(request.id) || this.#hasOthers(request))) return false;
    for (const [id, { pool }] of this.#left) {
      if (!request.declinedBy.includes(id) && coversAll(pool, request)) return false;
    }
    return true;
  }

  /** There are other launchers, or were: each may be a sign of more that have yet to register. */
  #hasOthers({ declinedBy }: Pick<RequestRecord, 'declinedBy'>): boolean {
    const { mirror, config } = this.#context;
    if (this.#left.size > 0 || this.#registered.pools.some(({ launcherId }) => !this.#own.has(launcherId))) return true;
    if (declinedBy.some((id) => !this.#own.has(id))) return true;
    const { providers } = config.now;
    for (const { provider } of mirror.nodes.values()) if (provider !== null && !providers.has(provider)) return true;
    return false;
  }

  #componentChanged(id: string, component: ComponentRecord | undefined): void {
    if (component && component.kind !== 'launcher') return;
    if (component && component.state !== 'running') {
      if (this.#starting.has(id) || this.#started.has(id)) return;
      this.#starting.set(
        id,
        this.#context.clock.setTimer(LONGEST_START_MS, () => this.#notWaitedFor(id)),
      );
      return;
    }
    this.#notWaitedFor(id);
    if (!component) this.#started.delete(id);
  }

  #notWaitedFor(id: string): void {
    const cancel = this.#starting.get(id);
    cancel?.();
    this.#starting.delete(id);
    this.#started.add(id);
    if (cancel && this.#starting.size === 0) this.#context.events.emit('registrySettled', {});
  }

  #poolChanged({ before, after }: PoolChange): void {
    if (after) {
      this.#left.get(after.launcherId)?.cancel();
      this.#left.delete(after.launcherId);
    }
    const { clock, events } = this.#context;
    if (!before || before.launcherId === after?.launcherId || this.#own.has(before.launcherId)) return;
    const { launcherId } = before;
    if (this.#registered.has(launcherId)) return; // the other one of its two entries
    this.#left.get(launcherId)?.cancel();
    const cancel = clock.setTimer(RETURN_MS, () => {
      this.#left.delete(launcherId);
      events.emit('registrySettled', {});
    });
    this.#left.set(launcherId, { pool: before, cancel });
  }
}
