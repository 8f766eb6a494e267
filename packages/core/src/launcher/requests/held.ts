import type { Operation, OperationResult, RequestRecord } from '@nodepool/zk-protocol';
import { setRequest } from './writes.js';
import type { Context } from '../state/context.js';
import { isRefusal, Transaction } from '../state/transaction.js';

/** The lock of a request this process has accepted. */
export class HeldRequest {
  readonly #context: Context;
  /** Path of our entry in the lock directory. */
  readonly entry: string;

  constructor(context: Context, entry: string) {
    this.#context = context;
    this.entry = entry;
  }

  /**
   * Writes the request's final body, after `before`, in one transaction, and keeps the lock.
   * @returns as {@link writeAndUnlock}; when done, the results, and the entry is left to be removed
   */
  writeOnly(request: RequestRecord, before: Transaction<'node'>): Promise<WriteResult> {
    return this.#write(request, before, []);
  }

  /**
   * Writes the request's body and gives the lock up, in one transaction. The lock directory stays as long as the request
   * does: others may be about to make their entry in it.
   * @returns `gone` when the requestor has deleted it (nothing was written, the lock is still held), `changed` when
   * another process wrote it
   */
  async writeAndUnlock(request: RequestRecord): Promise<'done' | 'gone' | 'changed'> {
    const result = await this.#write(request, undefined, [this.#unlockOperation()]);
    if (typeof result === 'string') return result;
    if ('node' in result) throw new Error('a transaction without nodes was refused because of a node');
    return 'done';
  }

  /** Gives the lock up without writing the request. */
  async unlock(): Promise<void> {
    const transaction = new Transaction<'lock'>();
    transaction.add('lock', this.#unlockOperation());
    await transaction.commit(this.#context.committer);
  }

  async #write(
    request: RequestRecord,
    before: Transaction<'node'> | undefined,
    after: readonly Operation[],
  ): Promise<WriteResult> {
    const transaction = new Transaction<'node' | 'request' | 'lock'>();
    if (before) transaction.add('node', ...before.operations);
    transaction.add('request', setRequest(request));
    transaction.add('lock', ...after);
    try {
      return { results: await transaction.commit(this.#context.committer) };
    } catch (error) {
      if (!isRefusal<'node' | 'request' | 'lock'>(error)) throw error;
      if (error.owner === 'node') return { node: error.operation };
      if (error.owner === 'request') return error.kind === 'gone' ? 'gone' : 'changed';
      throw error;
    }
  }

  #unlockOperation(): Operation {
    return { op: 'delete', path: this.entry };
  }
}

/** What became of writing the request's body; see {@link HeldRequest}. */
export type WriteResult = { readonly results: readonly OperationResult[] } | 'gone' | 'changed' | NodeRefusal;

/** The lock entry of a node was not there any more, or the node is another one. */
interface NodeRefusal {
  readonly node: Operation;
}
