import type {
  CancelTimer,
  Clock,
  ComponentRecord,
  LauncherId,
  NodeRecord,
  PoolComponentRecord,
  RecordCache,
  RequestId,
  RequestRecord,
} from '@nodepool/zk-protocol';
import { coversAll } from '../plan/rules.js';
import type { PoolChange, PoolRegistry } from './pool-registry.js';

/** So long after its own start a launcher counts on others that start beside it, where anything speaks for others. */
const SETTLING_MS = 10_000;
/** A registered launcher that is not running after this time is not waited for any longer. */
const LONGEST_START_MS = 60_000;
/** A pool that left may be back within this time: its launcher restarts, or gets a new session. */
const RETURN_MS = 30_000;

/** Options of a {@link RegistryOutlook}. */
export interface RegistryOutlookOptions {
  readonly clock: Clock;
  readonly components: Pick<RecordCache<ComponentRecord>, 'onChange' | 'ready'>;
  readonly registry: Pick<PoolRegistry, 'pools' | 'onChange'>;
  /** The pool belongs to this launcher, or once did: what becomes of it is known here. */
  readonly isOwn: (id: string) => boolean;
  readonly nodes: { values(): Iterable<Pick<NodeRecord, 'provider'>> };
  /** This launcher's configuration has the provider. */
  readonly isConfigured: (provider: string) => boolean;
  /** One that was waited for will not come: requests may be given up that could not before. */
  readonly changed: () => void;
}

/**
 * Tells whether pools of other launchers may be missing from the registry, because their launcher starts, restarts or
 * gets a new session. A requestor takes `failed` for final, so no request is given up while one of them could serve it.
 */
export class RegistryOutlook {
  readonly #options: RegistryOutlookOptions;
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

  constructor(options: RegistryOutlookOptions) {
    this.#options = options;
    this.#unsubscribe = [
      options.components.onChange(({ id, after }) => this.#componentChanged(id, after)),
      options.registry.onChange((change) => this.#poolChanged(change)),
    ];
  }

  /**
   * This launcher begins to serve. Others that were started at the same time get a moment to register.
   * @param waiting - requests that are there already
   */
  begin(waiting: Iterable<RequestId>): void {
    const { clock, changed } = this.#options;
    this.#hasBegun = true;
    this.#olderRequests = new Set(waiting);
    this.#settling = clock.setTimer(SETTLING_MS, () => {
      this.#settling = undefined;
      this.#olderRequests = new Set();
      changed();
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
    if (!this.#hasBegun || !this.#options.components.ready || this.#starting.size > 0) return false;
    if (this.#settling && (this.#olderRequests.has(request.id) || this.#hasOthers(request))) return false;
    for (const [id, { pool }] of this.#left) {
      if (!request.declinedBy.includes(id) && coversAll(pool, request)) return false;
    }
    return true;
  }

  /** There are other launchers, or were: each may be a sign of more that have yet to register. */
  #hasOthers({ declinedBy }: Pick<RequestRecord, 'declinedBy'>): boolean {
    const { registry, isOwn, nodes, isConfigured } = this.#options;
    if (this.#left.size > 0 || registry.pools.some(({ launcherId }) => !isOwn(launcherId))) return true;
    if (declinedBy.some((id) => !isOwn(id))) return true;
    for (const { provider } of nodes.values()) if (provider !== null && !isConfigured(provider)) return true;
    return false;
  }

  #componentChanged(id: string, component: ComponentRecord | undefined): void {
    if (component && component.kind !== 'launcher') return;
    if (component && component.state !== 'running') {
      if (this.#starting.has(id) || this.#started.has(id)) return;
      this.#starting.set(
        id,
        this.#options.clock.setTimer(LONGEST_START_MS, () => this.#notWaitedFor(id)),
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
    if (cancel && this.#starting.size === 0) this.#options.changed();
  }

  #poolChanged({ before, after }: PoolChange): void {
    if (after) {
      this.#left.get(after.launcherId)?.cancel();
      this.#left.delete(after.launcherId);
    }
    const { clock, registry, isOwn, changed } = this.#options;
    if (!before || before.launcherId === after?.launcherId || isOwn(before.launcherId)) return;
    const { launcherId } = before;
    if (registry.pools.some((pool) => pool.launcherId === launcherId)) return; // the other one of its two entries
    this.#left.get(launcherId)?.cancel();
    const cancel = clock.setTimer(RETURN_MS, () => {
      this.#left.delete(launcherId);
      changed();
    });
    this.#left.set(launcherId, { pool: before, cancel });
  }
}
