import type { LogFields, ProviderContext } from '@nodepool/core';
import { encodeNode, NODE_CREATE_PATH } from '@nodepool/zk-protocol';
import type { NodeFields, NodeRecord } from '@nodepool/zk-protocol';
import { logFields } from './host-monitor.js';
import type { MonitoredHost } from './host-monitor.js';
import { lockedWrite, writeLocked } from './locked-write.js';
import { guardOf } from './registration-guard.js';
import type { SlotIndex } from './slot-index.js';

/** A record and what is to be changed of it. */
export interface RecordWrite {
  readonly record: NodeRecord;
  readonly changes: NodeFields;
}

/** Writes records of this provider, at most once at a time for each record and slot. Nothing here rejects. */
export class SlotWriter {
  readonly #context: ProviderContext;
  readonly #index: SlotIndex;
  readonly #writing = new Set<string>();
  readonly #registering = new Set<string>();
  readonly #tasks = new Set<Promise<void>>();
  #loggedError: unknown;

  constructor(context: ProviderContext, index: SlotIndex) {
    this.#context = context;
    this.#index = index;
  }

  /** Whether a record for the slot is being made. */
  isRegistering(host: MonitoredHost, slot: number): boolean {
    return this.#registering.has(slotKey(host, slot));
  }

  /**
   * Creates the record of a slot.
   * @param record - asked directly before writing; `undefined` when the slot needs none any more
   */
  register(host: MonitoredHost, slot: number, record: () => NodeRecord | undefined): void {
    const key = slotKey(host, slot);
    if (this.#registering.has(key)) return;
    this.#registering.add(key);
    const registered = guardOf(this.#context).submit({
      alone: false,
      revision: () => this.#index.revisionOf(host.identity),
      operations: () => {
        const data = record();
        return data && [{ op: 'create', path: NODE_CREATE_PATH, sequential: true, data: encodeNode(data) }];
      },
    });
    this.#track(host, { ...logFields(host), slot }, 'Slot could not be registered', async () => {
      try {
        await registered;
      } finally {
        this.#registering.delete(key);
      }
    });
  }

  /**
   * Gives a free record another slot, or takes it out of service because it has none.
   * @param wanted - asked directly before writing; `undefined` when nothing is wrong with the record any more
   */
  correct(host: MonitoredHost, record: NodeRecord, message: string, wanted: () => RecordWrite | undefined): void {
    const { clock, nodes } = this.#context;
    this.#write(host, record, message, {}, () =>
      guardOf(this.#context).submit({
        alone: true,
        revision: () => this.#index.revisionOf(host.identity),
        operations: () => {
          const write = wanted();
          return write && lockedWrite(write.record, write.changes, clock.now(), nodes);
        },
      }),
    );
  }

  /** Brings a free record up to date. */
  update(host: MonitoredHost, record: NodeRecord, changes: NodeFields): void {
    this.#writePlainly(host, record, changes, 'Registration updated');
  }

  /** Takes a free record out of service: the normal deletion removes it. */
  deregister(host: MonitoredHost | undefined, record: NodeRecord, reason: string): void {
    this.#writePlainly(host, record, { state: 'deleting' }, 'Registration removed', { reason });
  }

  /** Resolves when every write under way has ended. */
  async settled(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  #writePlainly(
    host: MonitoredHost | undefined,
    record: NodeRecord,
    changes: NodeFields,
    message: string,
    more: LogFields = {},
  ): void {
    this.#write(host, record, message, more, () =>
      writeLocked(record, changes, this.#context.clock.now(), this.#context),
    );
  }

  #write(
    host: MonitoredHost | undefined,
    record: NodeRecord,
    message: string,
    more: LogFields,
    write: () => Promise<string>,
  ): void {
    if (this.#writing.has(record.id)) return;
    this.#writing.add(record.id);
    const fields: LogFields = {
      nodeId: record.id,
      pool: record.pool,
      host: record.hostname,
      slot: record.slot,
      ...more,
    };
    this.#track(host, fields, 'Registration could not be written', async () => {
      try {
        const outcome = await write();
        if (outcome === 'written') this.#context.logger.info(message, fields);
        else this.#context.logger.debug('Registration left unchanged for now', { ...fields, outcome });
        if (outcome !== 'written' && host) host.unsettled = true;
      } finally {
        this.#writing.delete(record.id);
      }
    });
  }

  #track(host: MonitoredHost | undefined, fields: LogFields, message: string, task: () => Promise<void>): void {
    const tracked = task()
      .catch((error: unknown) => {
        if (host) host.unsettled = true;
        // One failed transaction is the failure of all that it contained.
        if (error !== this.#loggedError) this.#context.logger.warn(message, { ...fields, error });
        this.#loggedError = error;
      })
      .finally(() => this.#tasks.delete(tracked));
    this.#tasks.add(tracked);
  }
}

function slotKey(host: MonitoredHost, slot: number): string {
  return `${host.identity}#${slot}`;
}
