import type { FoundCondition, HostStatus, Provider, ProviderContext } from '@nodepool/core';
import { systemLookup, type HostLookup } from '@nodepool/core/ssh';
import { isFree, type CancelTimer, type NodeRecord, type RecordChange } from '@nodepool/zk-protocol';
import { identityOf } from './config.js';
import type { StaticProviderConfig } from './config.js';
import { StaticRequestHandler } from './handler.js';
import { hostConditions, hostStatus } from './host-condition.js';
import { HiddenSlots } from './hidden-slots.js';
import { HostMonitor, MonitoredHost } from './host-monitor.js';
import { staleFields } from './host-record.js';
import { PoolCapacities } from './pool-capacities.js';
import { SlotIndex } from './slot-index.js';
import { SlotReconciler } from './slot-reconciler.js';
import { SlotWriter } from './slot-writer.js';

/** Time for another launcher to register the slot of a record that it deleted. */
const SUCCESSOR_WAIT_MS = 500;

/**
 * Registers the configured hosts as ready nodes, one record for each slot. Reacts to record changes and host checks; the
 * sweep each minute retries failed writes.
 */
export class StaticProvider implements Provider {
  readonly config: StaticProviderConfig;
  readonly #context: ProviderContext;
  readonly #lookup: HostLookup;
  readonly #hosts = new Map<string, MonitoredHost>();
  readonly #index: SlotIndex;
  readonly #monitor: HostMonitor;
  readonly #writer: SlotWriter;
  readonly #reconciler: SlotReconciler;
  readonly #capacities: PoolCapacities;
  readonly #vacated = new Set<MonitoredHost>();
  readonly #unsubscribe: (() => void)[] = [];
  #cancelVacated: CancelTimer | undefined;
  #state: 'new' | 'running' | 'idle' = 'new';

  /** @param lookup - resolves host names; default: the resolver of the machine */
  constructor(config: StaticProviderConfig, context: ProviderContext, lookup: HostLookup = systemLookup) {
    this.config = config;
    this.#context = context;
    this.#lookup = lookup;
    this.#index = new SlotIndex(config.name);
    this.#writer = new SlotWriter(context, this.#index);
    this.#capacities = new PoolCapacities(config);
    const { clock, logger } = context;
    const recordsOf = ({ identity }: MonitoredHost) => this.#index.recordsOf(identity);
    this.#monitor = new HostMonitor(
      { clock, logger, lookup, random: () => context.random() },
      {
        isIdle: (host) => recordsOf(host).some(({ state }) => state === 'ready'),
        recordedKeys: (host) => recordsOf(host)[0]?.hostKeys ?? [],
      },
      (host) => this.#reconciler.reconcile(host),
    );
    const hidden = new HiddenSlots(config.name, context.nodes);
    const parts = { context, hidden, index: this.#index, writer: this.#writer, monitor: this.#monitor };
    this.#reconciler = new SlotReconciler({ ...parts, hosts: this.#hosts, isRunning: () => this.#state === 'running' });
    for (const pool of config.pools.values()) {
      for (const host of pool.hosts) {
        const monitored = new MonitoredHost({ provider: config.name, pool, host });
        this.#hosts.set(monitored.identity, monitored);
      }
    }
  }

  /** Resolves once the existing records are known; hosts are then checked and registered in the background. */
  async start(signal: AbortSignal): Promise<void> {
    const { nodes } = this.#context;
    await nodes.whenReady(signal);
    if (this.#state !== 'new') return;
    this.#state = 'running';
    for (const node of this.#context.ownNodes()) this.#index.apply({ id: node.id, before: undefined, after: node });
    this.#unsubscribe.push(
      nodes.onChange((change) => this.#changed(change)),
      nodes.onReady((ready) => {
        if (ready) this.#reconciler.sweep();
      }),
    );
    this.#reconciler.deregisterUnknown();
    // Hosts without a record first: requests may be waiting for them.
    const hasRecord = (host: MonitoredHost) => this.#index.recordsOf(host.identity).length > 0;
    const byNeed = [...this.#hosts.values()].sort((a, b) => Number(hasRecord(a)) - Number(hasRecord(b)));
    for (const host of byNeed) void this.#monitor.check(host);
  }

  idle(): void {
    this.#state = 'idle';
    this.#monitor.stop(this.#hosts.values());
    this.#cancelVacated?.();
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  stop(): void {
    this.idle();
  }

  async join(): Promise<void> {
    await Promise.all([...this.#hosts.values()].flatMap((host) => host.checking ?? []));
    await this.#writer.settled();
  }

  labelReady(pool: string, label: string): boolean {
    return this.config.pools.get(pool)?.labels.has(label) ?? false;
  }

  getRequestHandler(): StaticRequestHandler {
    return new StaticRequestHandler({
      clock: this.#context.clock,
      lookup: this.#lookup,
      hostOf: (node) => this.#hostOf(node)?.offer.host,
      rejected: (node) => this.#rejected(node),
    });
  }

  /** Hosts are not cloud resources: the external id of a record is the host name. */
  ownsResource(): boolean {
    return false;
  }

  /** Hosts are not changed after use. */
  startNodeCleanup(): undefined {
    return undefined;
  }

  labelCapacity(poolName: string, label: string): number {
    return this.#capacities.slotsOf(poolName, label);
  }

  canHold(poolName: string, labels: readonly string[]): boolean {
    return this.#capacities.canHold(poolName, labels);
  }

  /** Hosts of the pool that cannot be registered, with the reason. */
  blockers(poolName: string, label: string): string[] {
    if (this.#state === 'new') return []; // no host has been checked
    const hosts = [...this.#hosts.values()].filter(
      ({ offer }) => offer.pool.name === poolName && offer.host.labels.includes(label),
    );
    return hosts.flatMap((host) => (host.facts ? (this.#reconciler.blocker(host) ?? []) : blocker(host)));
  }

  hosts(): HostStatus[] {
    return [...this.#hosts.values()].map((host) => hostStatus(host, this.#index.recordsOf(host.identity)));
  }

  conditions(): FoundCondition[] {
    return [...this.#hosts.values()].flatMap((host) => hostConditions(host, this.#context.clock));
  }

  cleanupLeakedResources(): Promise<void> {
    this.#reconciler.sweep();
    return Promise.resolve();
  }

  errorLabels(): ReadonlySet<string> {
    return NO_LABELS;
  }

  successorOf(node: NodeRecord): NodeRecord | undefined {
    const host = this.#hostOf(node);
    if (host === undefined) return undefined;
    return this.#reconciler.successorOf(node, host);
  }

  nodeDeletedNotification(node: NodeRecord): void {
    const host = this.#hostOf(node);
    if (this.#state === 'running' && host !== undefined) this.#reconciler.fill(host);
  }

  #hostOf(node: NodeRecord): MonitoredHost | undefined {
    return this.#hosts.get(identityOf(node.hostname, node.username, node.connectionPort));
  }

  #rejected(node: NodeRecord): void {
    if (this.#state !== 'running') return;
    const host = this.#hostOf(node);
    const current = this.#context.nodes.get(node.id);
    if (current !== undefined && isFree(current)) this.#writer.deregister(host, current, 'the host does not answer');
    if (host === undefined) return;
    host.facts = undefined;
    void this.#monitor.check(host);
  }

  #changed(change: RecordChange<NodeRecord>): void {
    const moved = this.#index.apply(change);
    if (moved === undefined) return;
    const { before, after } = change;
    if (moved.left !== undefined && moved.left !== moved.joined) this.#slotVacated(moved.left);
    if (moved.joined === undefined || after === undefined) return;
    const host = this.#hosts.get(moved.joined);
    if (host === undefined) return;
    if (isFree(after)) {
      if (this.#needsAttention(host, before, after)) this.#reconciler.reconcile(host);
    } else if (before?.state !== after.state && isReturned(after)) {
      // The record is about to be deleted: start the check that its successor needs.
      if (host.failures === 0 && !host.isFresh(this.#context.clock)) void this.#monitor.check(host);
    }
  }

  /**
   * Whether a change of a free record requires reconciling its host. A record that another launcher registered is accepted
   * even if it does not match our configuration or we cannot reach the host: otherwise two launchers that disagree would
   * undo each other's writes forever. The sweep and our own checks correct it, at a limited rate.
   */
  #needsAttention(host: MonitoredHost, before: NodeRecord | undefined, after: NodeRecord): boolean {
    if (host.unsettled) return true;
    if (before?.slot !== after.slot) {
      const records = this.#index.recordsOf(host.identity);
      if (records.some((record) => record.id !== after.id && record.slot === after.slot)) return true;
    }
    if (before === undefined || isFree(before) || host.facts === undefined) return false;
    return staleFields(after, host.offer, host.facts, after.slot ?? -1) !== undefined;
  }

  /** The launcher that deleted the record registers its slot again. If it does not, this launcher does. */
  #slotVacated(identity: string): void {
    const host = this.#hosts.get(identity);
    if (host === undefined) return;
    this.#vacated.add(host);
    this.#cancelVacated ??= this.#context.clock.setTimer(SUCCESSOR_WAIT_MS * (1 + this.#context.random()), () => {
      this.#cancelVacated = undefined;
      const vacated = [...this.#vacated];
      this.#vacated.clear();
      for (const each of vacated) this.#reconciler.fill(each);
    });
  }
}

function blocker({ offer, lastError, checking, nextCheckMs }: MonitoredHost): string {
  const { name, port } = offer.host;
  if (lastError === undefined) return `${name} port ${port}: first check is running`;
  const text = lastError.message.startsWith(name) ? lastError.message : `${name} port ${port}: ${lastError.message}`;
  const isDue = checking !== undefined || nextCheckMs === undefined;
  return `${text} (${isDue ? 'checking again' : `next check at ${new Date(nextCheckMs).toISOString()}`})`;
}

const NO_LABELS: ReadonlySet<string> = new Set();

/** Whether the record is about to be deleted. */
function isReturned(record: NodeRecord): boolean {
  return record.state === 'used' || record.state === 'deleting';
}
