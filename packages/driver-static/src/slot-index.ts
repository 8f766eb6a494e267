import type { NodeId, NodeRecord, RecordChange } from '@nodepool/zk-protocol';
import { identityOf } from './config.js';

/** Records that are being made by others' launches or are gone do not fill a slot. */
const NOT_FILLING = new Set(['init', 'building', 'deleted']);

/** A change of one record, seen from the hosts it belongs to. */
export interface IdentityChange {
  /** Identity the record had; `undefined` if it was not ours or did not exist. */
  readonly left: string | undefined;
  /** Identity the record has; `undefined` if it is gone or not ours any more. */
  readonly joined: string | undefined;
}

/** A provider's own records by the host they stand for, kept by the changes of the node cache. */
export class SlotIndex {
  readonly #provider: string;
  readonly #records = new Map<string, NodeRecord[]>();
  /** When a record of each host last changed, counted in changes. */
  readonly #revisions = new Map<string, number>();
  #changes = 0;

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** Takes a change in. @returns `undefined` when it is about another provider's record */
  apply(change: RecordChange<NodeRecord>): IdentityChange | undefined {
    const left = this.#identity(change.before);
    const joined = this.#identity(change.after);
    if (left === undefined && joined === undefined) return undefined;
    this.#changes += 1;
    for (const identity of [left, joined]) if (identity !== undefined) this.#revisions.set(identity, this.#changes);
    if (left !== undefined) this.#remove(left, change.id as NodeId);
    if (joined !== undefined && change.after) {
      const records = this.#records.get(joined);
      if (records) records.push(change.after);
      else this.#records.set(joined, [change.after]);
    }
    return { left, joined };
  }

  /** Records of one host in whatever state, in no order. */
  recordsOf(identity: string): readonly NodeRecord[] {
    return this.#records.get(identity) ?? [];
  }

  /** Another number after every change of a record of the host. */
  revisionOf(identity: string): number {
    return this.#revisions.get(identity) ?? 0;
  }

  /** Every host that has a record, configured or not. */
  identities(): IterableIterator<string> {
    return this.#records.keys();
  }

  #identity(record: NodeRecord | undefined): string | undefined {
    if (record?.provider !== this.#provider || NOT_FILLING.has(record.state)) return undefined;
    return identityOf(record.hostname, record.username, record.connectionPort);
  }

  #remove(identity: string, id: NodeId): void {
    const remaining = this.recordsOf(identity).filter((record) => record.id !== id);
    if (remaining.length > 0) this.#records.set(identity, remaining);
    else this.#records.delete(identity);
  }
}
