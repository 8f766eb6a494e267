import type { LogFields, ProviderContext } from '@nodepool/core';
import {
  encodeNode,
  isZooKeeperError,
  NODE_CREATE_PATH,
  nodeLockPath,
  nodePath,
  withNode,
} from '@nodepool/zk-protocol';
import type { Committer, LockAware, NodeFields, NodeRecord, Operation } from '@nodepool/zk-protocol';
import { logFields } from './host-monitor.js';
import type { MonitoredHost } from './host-monitor.js';
import { guardOf } from './registration-guard.js';
import type { SlotIndex } from './slot-index.js';

/** A record and its new field values. */
export interface RecordWrite {
  readonly record: NodeRecord;
  readonly changes: NodeFields;
}

/** Writes records of this provider, with at most one pending write for each record and slot. Never rejects. */
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

  /** Whether a record for the slot is being created. */
  isRegistering(host: MonitoredHost, slot: number): boolean {
    return this.#registering.has(slotKey(host, slot));
  }

  /**
   * Creates the record of a slot.
   * @param record - called directly before writing; `undefined` if the slot no longer needs a record
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
    this.#track(host, { ...logFields(host), slot }, 'Slot registration failed', async () => {
      try {
        await registered;
      } finally {
        this.#registering.delete(key);
      }
    });
  }

  /**
   * Moves a free record to another slot, or removes it because it has none.
   * @param wanted - called directly before writing; `undefined` if the record is correct now
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
    this.#writeFields(host, record, changes, 'Updated registration');
  }

  /** Marks a free record for deletion by the launcher. */
  deregister(host: MonitoredHost | undefined, record: NodeRecord, reason: string): void {
    this.#writeFields(host, record, { state: 'deleting' }, 'Removed registration', { reason });
  }

  /** Resolves when all pending writes have ended. */
  async settled(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  #writeFields(
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
    this.#track(host, fields, 'Registration write failed', async () => {
      try {
        const outcome = await write();
        if (outcome === 'written') this.#context.logger.info(message, fields);
        else this.#context.logger.debug('Registration write skipped', { ...fields, outcome });
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
        // All changes of a failed transaction reject with the same error.
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

/** `busy`: another process holds or waits for the lock. `changed`: the record has changed, so compute the write again. */
export type WriteOutcome = 'written' | 'busy' | 'changed';

/** Dependencies of {@link writeLocked}. */
export interface WriteServices {
  readonly committer: Committer;
  readonly nodes: LockAware;
}

/**
 * The operations that write a record under its lock, in one transaction. ZooKeeper deletes a lock directory only if it is
 * empty and creates it only if it is missing, so both prove that the lock is free. The transaction acquires and releases
 * the lock at once.
 * @returns `undefined` if another process holds or waits for the lock
 */
export function lockedWrite(
  node: NodeRecord,
  changes: NodeFields,
  nowMs: number,
  nodes: LockAware,
): Operation[] | undefined {
  if (nodes.contenders(node.id) > 0) return undefined;
  const next = withNode(node, changes, nowMs, 'static');
  const write: Operation = {
    op: 'set',
    path: nodePath(node.id),
    data: encodeNode(next),
    version: node.stat?.version ?? -1,
  };
  const lock = nodeLockPath(node.id);
  const create: Operation = { op: 'create', path: lock };
  return nodes.hasLockDirectory(node.id) ? [{ op: 'delete', path: lock }, create, write] : [create, write];
}

/** Writes a record under its lock. */
export async function writeLocked(
  node: NodeRecord,
  changes: NodeFields,
  nowMs: number,
  services: WriteServices,
): Promise<WriteOutcome> {
  const operations = lockedWrite(node, changes, nowMs, services.nodes);
  if (operations === undefined) return 'busy';
  try {
    await services.committer.commit(operations);
    return 'written';
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NOT_EMPTY')) return 'busy';
    if (isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) return 'changed';
    throw error;
  }
}
