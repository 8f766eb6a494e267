import { requestLockPath, type Operation, type RequestRecord } from '@nodepool/zk-protocol';
import { setRequest } from './decline.js';
import type { Services } from './services.js';
import { isRefusal, Transaction, type RefusalKind } from './transaction.js';

/** The lock of a request this process has accepted. */
export class HeldRequest {
  readonly #services: Services;
  readonly #entry: string;
  readonly #root: string;
  /** Somebody waits for the lock, so its directory cannot go. */
  #directoryStays = false;

  constructor(services: Services, request: RequestRecord, entry: string) {
    this.#services = services;
    this.#entry = entry;
    this.#root = requestLockPath(request.id);
  }

  /**
   * Writes the request's final body, after `before`, and gives the lock up, all in one transaction.
   * @returns `gone` when the requestor has deleted it (nothing was written, the lock is still held), `changed` when
   * somebody else wrote it
   */
  async writeAndUnlock(
    request: RequestRecord,
    before?: Transaction<'node'>,
  ): Promise<'done' | 'gone' | 'changed' | NodeRefusal> {
    for (;;) {
      const transaction = new Transaction<'node' | 'request' | 'lock'>();
      if (before) transaction.add('node', ...before.operations);
      transaction.add('request', setRequest(request));
      transaction.add('lock', ...this.#unlockOperations());
      try {
        await transaction.commit(this.#services.committer);
        return 'done';
      } catch (error) {
        if (!isRefusal<'node' | 'request' | 'lock'>(error)) throw error;
        if (error.owner === 'node') return { node: error.operation };
        if (error.owner === 'request') return error.kind === 'gone' ? 'gone' : 'changed';
        this.#learn(error.kind, error);
      }
    }
  }

  /** Gives the lock up without writing the request. */
  async unlock(): Promise<void> {
    for (;;) {
      const transaction = new Transaction<'lock'>();
      transaction.add('lock', ...this.#unlockOperations());
      try {
        await transaction.commit(this.#services.committer);
        return;
      } catch (error) {
        if (!isRefusal<'lock'>(error)) throw error;
        this.#learn(error.kind, error);
      }
    }
  }

  #unlockOperations(): Operation[] {
    const unlock: Operation = { op: 'delete', path: this.#entry };
    return this.#directoryStays ? [unlock] : [unlock, { op: 'delete', path: this.#root }];
  }

  #learn(kind: RefusalKind, error: Error): void {
    if (kind !== 'locked' || this.#directoryStays) throw error;
    this.#directoryStays = true;
  }
}

/** The lock entry of a node was not there any more. */
export interface NodeRefusal {
  readonly node: Operation;
}
