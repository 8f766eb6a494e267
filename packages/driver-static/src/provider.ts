import { systemLookup } from '@nodepool/core';
import type { HostLookup, Provider, ProviderContext } from '@nodepool/core';
import { isFree, type CancelTimer, type NodeRecord, type RecordChange } from '@nodepool/zk-protocol';
import { identityOf } from './config.js';
import type { StaticProviderConfig } from './config.js';
import { StaticRequestHandler } from './handler.js';
import { HostMonitor, logFields, MonitoredHost } from './host-monitor.js';
import { slotRecord, staleFields } from './host-record.js';
import { canPlace } from './placement.js';
import { SlotIndex } from './slot-index.js';
import { planSlots } from './slot-plan.js';
import { SlotWriter } from './slot-writer.js';

/** How long another launcher gets to register the slot of a record it has deleted. */
const OTHERS_TURN_MS = 500;

/**
 * Registers the configured hosts as ready nodes, one record for each slot, and keeps them so. Everything is driven by
 * changes of records and by host checks; the sweep each minute only repeats what could not be done.
 */
export class StaticProvider implements Provider {
  readonly config: StaticProviderConfig;
  readonly #context: ProviderContext;
  readonly #lookup: HostLookup;
  readonly #hosts = new Map<string, MonitoredHost>();
  readonly #index: SlotIndex;
  readonly #monitor: HostMonitor;
  readonly #writer: SlotWriter;
  readonly #vacated = new Set<MonitoredHost>();
  /** Configured slots by pool and label. */
  readonly #capacities = new Map<string, Map<string, number>>();
  /** Whether a pool can hold labels; asked again and again for the same few combinations. */
  readonly #placements = new Map<string, boolean>();
  readonly #unsubscribe: (() => void)[] = [];
  #cancelVacated: CancelTimer | undefined;
  #state: 'new' | 'running' | 'idle' = 'new';

  /** @param lookup - resolves host names; default the machine's resolver */
  constructor(config: StaticProviderConfig, context: ProviderContext, lookup: HostLookup = systemLookup) {
    this.config = config;
    this.#context = context;
    this.#lookup = lookup;
    this.#index = new SlotIndex(config.name);
    this.#writer = new SlotWriter(context);
    const { clock, logger } = context;
    this.#monitor = new HostMonitor({ clock, logger, lookup, random: () => context.random() }, (host) =>
      this.#reconcile(host),
    );
    for (const pool of config.pools.values()) {
      const capacities = new Map<string, number>();
      this.#capacities.set(pool.name, capacities);
      for (const host of pool.hosts) {
        for (const label of host.labels) capacities.set(label, (capacities.get(label) ?? 0) + host.maxParallelJobs);
        const monitored = new MonitoredHost({ provider: config.name, pool, host });
        this.#hosts.set(monitored.identity, monitored);
      }
    }
  }

  /** Resolves once the present records are known; hosts are then checked and registered in the background. */
  async start(signal: AbortSignal): Promise<void> {
    const { nodes } = this.#context;
    await nodes.whenReady(signal);
    if (this.#state !== 'new') return;
    this.#state = 'running';
    for (const node of this.#context.ownNodes()) this.#index.apply({ id: node.id, before: undefined, after: node });
    this.#unsubscribe.push(
      nodes.onChange((change) => this.#changed(change)),
      nodes.onReady((ready) => {
        if (ready) this.#sweep();
      }),
    );
    this.#deregisterUnknown();
    // What has no record yet is missed by somebody; what has one is only checked again.
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

  /** The record's external id is only the host's name. */
  ownsResource(): boolean {
    return false;
  }

  /** The host is left as it is. */
  startNodeCleanup(): undefined {
    return undefined;
  }

  labelCapacity(poolName: string, label: string): number {
    return this.#capacities.get(poolName)?.get(label) ?? 0;
  }

  canHold(poolName: string, labels: readonly string[]): boolean {
    const first = labels[0];
    // Enough of one label is what `labelCapacity` tells.
    if (labels.every((label) => label === first)) return true;
    const key = [poolName, ...[...labels].sort()].join('\0');
    let answer = this.#placements.get(key);
    if (answer === undefined) {
      answer = canPlace(this.config.pools.get(poolName)?.hosts ?? [], labels);
      this.#placements.set(key, answer);
    }
    return answer;
  }

  /** Hosts of the pool that cannot be registered, and why. */
  hindrances(poolName: string, label: string): string[] {
    if (this.#state === 'new') return []; // nothing has been looked at
    const hosts = [...this.#hosts.values()].filter(
      ({ offer, facts }) => offer.pool.name === poolName && offer.host.labels.includes(label) && facts === undefined,
    );
    return hosts.map((host) => hindrance(host));
  }

  cleanupLeakedResources(): Promise<void> {
    this.#sweep();
    return Promise.resolve();
  }

  errorLabels(): ReadonlySet<string> {
    return NO_LABELS;
  }

  successorOf(node: NodeRecord): NodeRecord | undefined {
    const host = this.#hostOf(node);
    if (this.#state !== 'running' || host?.facts === undefined || node.slot === null) return undefined;
    const nowMs = this.#context.clock.now();
    if (!host.isFresh(nowMs) || this.#writer.isRegistering(host, node.slot)) return undefined;
    const { slots } = planSlots(this.#index.recordsOf(host.identity), host.offer.host.maxParallelJobs);
    if (!(node.slot in slots)) return undefined;
    const occupant = slots[node.slot];
    if (occupant !== undefined && occupant.id !== node.id) return undefined;
    return slotRecord(host.offer, host.facts, node.slot, nowMs);
  }

  nodeDeletedNotification(node: NodeRecord): void {
    const host = this.#hostOf(node);
    if (this.#state === 'running' && host !== undefined) this.#attend(host);
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
      if (this.#needsAttention(host, before, after)) this.#reconcile(host);
    } else if (before?.state !== after.state && isReturned(after)) {
      // The record will be deleted in a moment; begin now with what its successor needs.
      if (host.failures === 0 && !host.isFresh(this.#context.clock.now())) void this.#monitor.check(host);
    }
  }

  /**
   * Whether a free record calls for a look at its host. What another launcher registers is taken as it is, even if it
   * does not fit our configuration or the host is dead for us: two launchers that disagree would otherwise undo each
   * other's work without end. The sweep and our own checks, which are paced, have the last word.
   */
  #needsAttention(host: MonitoredHost, before: NodeRecord | undefined, after: NodeRecord): boolean {
    if (host.unsettled) return true;
    if (before === undefined) {
      const records = this.#index.recordsOf(host.identity);
      return records.some((record) => record.id !== after.id && record.slot === after.slot);
    }
    if (isFree(before) || host.facts === undefined) return false;
    return staleFields(after, host.offer, host.facts, after.slot ?? -1) !== undefined;
  }

  /** Whoever deleted the record registers its slot anew; should they not, we do. */
  #slotVacated(identity: string): void {
    const host = this.#hosts.get(identity);
    if (host === undefined) return;
    this.#vacated.add(host);
    this.#cancelVacated ??= this.#context.clock.setTimer(OTHERS_TURN_MS * (1 + this.#context.random()), () => {
      this.#cancelVacated = undefined;
      const vacated = [...this.#vacated];
      this.#vacated.clear();
      for (const each of vacated) this.#attend(each);
    });
  }

  /** Fills the host's slots, unless it is being checked or waits for its next check anyway. */
  #attend(host: MonitoredHost): void {
    if (host.facts !== undefined) this.#reconcile(host);
    else if (host.cancelRetry === undefined) void this.#monitor.check(host);
  }

  #sweep(): void {
    if (this.#state !== 'running') return;
    for (const host of this.#hosts.values()) {
      const isComplete = eachInItsSlot(this.#index.recordsOf(host.identity), host.offer.host.maxParallelJobs);
      if (host.facts === undefined) void this.#monitor.check(host);
      else if (!isComplete || host.unsettled) this.#reconcile(host);
    }
    this.#deregisterUnknown();
  }

  #deregisterUnknown(): void {
    for (const identity of this.#index.identities()) {
      if (this.#hosts.has(identity)) continue;
      for (const record of this.#index.recordsOf(identity)) {
        if (isFree(record)) this.#writer.deregister(undefined, record, 'the host is not configured');
      }
    }
  }

  /** Makes the host's records what configuration and last check say. */
  #reconcile(host: MonitoredHost): void {
    if (this.#state !== 'running') return;
    if (!this.#context.nodes.ready) {
      // after a lost connection: what seems to be missing may only not have been read yet
      host.unsettled = true;
      return;
    }
    const records = this.#index.recordsOf(host.identity);
    const { facts, offer } = host;
    if (facts === undefined) {
      if (host.failures === 0) return;
      for (const record of records.filter(isFree)) this.#writer.deregister(host, record, 'the host does not answer');
      return;
    }
    host.unsettled = false;
    const { slots, excess } = planSlots(records, offer.host.maxParallelJobs);
    slots.forEach((record, slot) => {
      if (record === undefined) this.#register(host, slot);
      else if (isFree(record)) {
        const stale = staleFields(record, offer, facts, slot);
        if (stale !== undefined) this.#writer.update(host, record, stale);
      }
    });
    for (const record of excess.filter(isFree)) this.#writer.deregister(host, record, 'the host has no such slot');
  }

  #register(host: MonitoredHost, slot: number): void {
    if (!host.isFresh(this.#context.clock.now())) {
      void this.#monitor.check(host);
      return;
    }
    this.#context.logger.debug('Registering slot', { ...logFields(host), slot });
    this.#writer.register(host, slot, () => {
      const { facts, offer } = host;
      if (this.#state !== 'running' || facts === undefined) return undefined;
      const { slots } = planSlots(this.#index.recordsOf(host.identity), offer.host.maxParallelJobs);
      if (slots[slot] !== undefined) return undefined;
      return slotRecord(offer, facts, slot, this.#context.clock.now());
    });
  }
}

function hindrance({ offer, lastError, checking, nextCheckMs }: MonitoredHost): string {
  const { name, port } = offer.host;
  if (lastError === undefined) return `${name} port ${port}: it is being checked for the first time`;
  const text = lastError.message.startsWith(name) ? lastError.message : `${name} port ${port}: ${lastError.message}`;
  const isDue = checking !== undefined || nextCheckMs === undefined;
  return `${text} (${isDue ? 'being checked again' : `checked again at ${new Date(nextCheckMs).toISOString()}`})`;
}

/** Launchers whose configurations differ for a while may leave two records in one slot. */
function eachInItsSlot(records: readonly NodeRecord[], slotCount: number): boolean {
  const slots = new Set(records.map(({ slot }) => slot ?? -1).filter((slot) => slot >= 0 && slot < slotCount));
  return records.length === slotCount && slots.size === slotCount;
}

const NO_LABELS: ReadonlySet<string> = new Set();

/** Done with: it will be deleted. */
function isReturned(record: NodeRecord): boolean {
  return record.state === 'used' || record.state === 'deleting';
}
