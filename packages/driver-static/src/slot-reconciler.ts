import type { ProviderContext } from '@nodepool/core';
import { isFree, type NodeRecord } from '@nodepool/zk-protocol';
import { downText } from './host-condition.js';
import { logFields } from './host-monitor.js';
import type { HostMonitor, MonitoredHost } from './host-monitor.js';
import { slotRecord, staleFields } from './host-record.js';
import type { HiddenSlots } from './hidden-slots.js';
import type { SlotIndex } from './slot-index.js';
import { planSlots, type SlotPlan } from './slot-plan.js';
import type { SlotWriter } from './slot-writer.js';

/** Dependencies of the reconciler. */
export interface ReconcilerParts {
  readonly context: ProviderContext;
  readonly index: SlotIndex;
  readonly hidden: HiddenSlots;
  readonly writer: SlotWriter;
  readonly monitor: Pick<HostMonitor, 'check'>;
  /** Configured hosts by identity. */
  readonly hosts: ReadonlyMap<string, MonitoredHost>;
  /** False before the start and after the provider is replaced. */
  isRunning(): boolean;
}

/** Brings the records of each host in line with its configuration and last check. */
export class SlotReconciler {
  readonly #parts: ReconcilerParts;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  reconcile(host: MonitoredHost): void {
    const { context, index, writer } = this.#parts;
    if (!this.#parts.isRunning()) return;
    if (!context.nodes.ready) {
      // After a lost connection, records may only seem to be missing.
      host.unsettled = true;
      return;
    }
    const { facts, offer } = host;
    if (facts === undefined) {
      if (host.failures === 0) return;
      for (const record of index.recordsOf(host.identity)) {
        if (isFree(record)) writer.deregister(host, record, downText(host.failedWith));
        else if (record.state === 'ready') context.nodeUnusable?.(record.id, downText(host.failedWith));
      }
      return;
    }
    host.unsettled = false;
    const { slots, excess } = this.#planOf(host);
    slots.forEach((record, slot) => {
      // The sweep registers it once it is not hidden any more.
      if (record?.slot !== slot && this.#isHidden(host, slot)) return;
      if (record === undefined) this.#register(host, slot);
      else if (isFree(record)) {
        const stale = staleFields(record, offer, facts, slot);
        if (stale === undefined) return;
        if (record.slot === slot) writer.update(host, record, stale);
        else this.#move(host, record, slot);
      }
    });
    for (const record of excess.filter(isFree)) this.#remove(host, record);
  }

  /** Fills the slots of a host, or checks it first. Does nothing if a check is running or scheduled. */
  fill(host: MonitoredHost): void {
    if (host.facts !== undefined) this.reconcile(host);
    else if (host.cancelRetry === undefined) void this.#parts.monitor.check(host);
  }

  /** Reconciles every host: a write may have failed, and a record may have been unreadable or another launcher's. */
  sweep(): void {
    const { hosts, monitor } = this.#parts;
    if (!this.#parts.isRunning()) return;
    for (const host of hosts.values()) {
      if (host.facts === undefined) void monitor.check(host);
      else this.reconcile(host);
    }
    this.deregisterUnknown();
  }

  /** Removes free records of hosts that are not configured. */
  deregisterUnknown(): void {
    const { hosts, index, writer } = this.#parts;
    for (const identity of index.identities()) {
      if (hosts.has(identity)) continue;
      for (const record of index.recordsOf(identity)) {
        if (isFree(record)) writer.deregister(undefined, record, 'the host is not configured');
      }
    }
  }

  /**
   * The record to create in the transaction that deletes this one; `undefined` if the host must be checked first, or if
   * another record claims the slot.
   */
  successorOf(node: NodeRecord, host: MonitoredHost): NodeRecord | undefined {
    const { context, writer } = this.#parts;
    if (!this.#parts.isRunning() || host.facts === undefined || node.slot === null) return undefined;
    if (!host.isFresh(context.clock) || writer.isRegistering(host, node.slot)) return undefined;
    if (this.#planOf(host).slots[node.slot]?.id !== node.id) return undefined;
    return slotRecord(host.offer, host.facts, node.slot, context.clock.now());
  }

  #planOf(host: MonitoredHost): SlotPlan {
    return planSlots(this.#parts.index.recordsOf(host.identity), host.offer.host.maxParallelJobs);
  }

  /** Why slots of the host are not registered, for people; `undefined`: all are, or will be. */
  blocker(host: MonitoredHost): string | undefined {
    const { slots } = this.#planOf(host);
    const slot = slots.findIndex((record, each) => record === undefined && this.#isHidden(host, each));
    if (slot < 0) return undefined;
    const { name } = host.offer.host;
    const id = this.#parts.hidden.recordOf(name, slot);
    return `${name}: slot ${slot} is not registered while the record of node ${id}, which may stand for it, cannot be read`;
  }

  #isHidden({ offer }: MonitoredHost, slot: number): boolean {
    return this.#parts.hidden.recordOf(offer.host.name, slot) !== undefined;
  }

  #register(host: MonitoredHost, slot: number): void {
    const { context, monitor, writer } = this.#parts;
    if (!host.isFresh(context.clock)) {
      void monitor.check(host);
      return;
    }
    context.logger.debug('Registering slot', { ...logFields(host), slot });
    writer.register(host, slot, () => {
      const { facts, offer } = host;
      if (!this.#parts.isRunning() || facts === undefined || this.#isHidden(host, slot)) return undefined;
      if (this.#planOf(host).slots[slot] !== undefined) return undefined;
      return slotRecord(offer, facts, slot, context.clock.now());
    });
  }

  /** Moves a record to a free slot because its own is taken or does not exist. */
  #move(host: MonitoredHost, record: NodeRecord, slot: number): void {
    const { id } = record;
    this.#parts.writer.correct(host, record, 'Moved registration to another slot', () => {
      const now = this.#planOf(host).slots[slot];
      if (!this.#parts.isRunning() || host.facts === undefined || now?.id !== id || !isFree(now)) return undefined;
      if (now.slot !== slot && this.#isHidden(host, slot)) return undefined;
      const changes = staleFields(now, host.offer, host.facts, slot);
      return changes && { record: now, changes };
    });
  }

  #remove(host: MonitoredHost, record: NodeRecord): void {
    this.#parts.writer.correct(host, record, 'Removed registration: the host has no such slot', () => {
      const now = this.#planOf(host).excess.find(({ id }) => id === record.id);
      if (!this.#parts.isRunning() || now === undefined || !isFree(now)) return undefined;
      return { record: now, changes: { state: 'deleting' } };
    });
  }
}
