import type { NodeId, NodeRecord, RecordChange } from '@nodepool/zk-protocol';
import { identityOf } from './config.js';

/** States of records that fill no slot: not launched yet, or deleted. */
const NOT_FILLING = new Set(['init', 'building', 'deleted']);

/** Effect of a record change on the hosts concerned. */
export interface IdentityChange {
  /** Host that lost the record; `undefined` if it was not of this provider or did not exist. */
  readonly left: string | undefined;
  /** Host that has the record now; `undefined` if it was deleted or left this provider. */
  readonly joined: string | undefined;
}

/** Records of a provider by host, updated by the changes of the node cache. */
export class SlotIndex {
  readonly #provider: string;
  readonly #records = new Map<string, NodeRecord[]>();
  /** Sequence number of the last change of each host. */
  readonly #revisions = new Map<string, number>();
  #changes = 0;

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** Applies a change. @returns `undefined` if it concerns another provider */
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

  /** Records of one host, in any state and order. */
  recordsOf(identity: string): readonly NodeRecord[] {
    return this.#records.get(identity) ?? [];
  }

  /** A number that differs after every change of a record of the host. */
  revisionOf(identity: string): number {
    return this.#revisions.get(identity) ?? 0;
  }

  /** Hosts with a record, configured or not. */
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
