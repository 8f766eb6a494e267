import { setMaxListeners } from 'node:events';
import { LaunchError } from '@nodepool/core';
import type { ProviderContext } from '@nodepool/core';
import { ScanQueue, type scanHostKeys } from '@nodepool/core/ssh';
import type { NodeId } from '@nodepool/zk-protocol';
import type { BackingNode } from './backing-node.js';
import type { SlotClaim } from './slot-claim.js';

/** Reads host keys, or rejects. */
export type KeyScanner = typeof scanHostKeys;

/** Dependencies of {@link KeyScans}. */
export interface KeyScansOptions {
  readonly context: ProviderContext;
  readonly scan: KeyScanner;
  readonly timeoutMs: number;
  /** Called if reading the keys of a backing node failed. */
  readonly failed: (backing: BackingNode) => void;
}

/** Reads the host keys of backing nodes. Concurrent launches on one node share a scan. */
export class KeyScans {
  readonly #options: KeyScansOptions;
  readonly #queue = new ScanQueue();
  readonly #running = new Map<NodeId, Promise<string[]>>();
  readonly #stop = new AbortController();

  constructor(options: KeyScansOptions) {
    setMaxListeners(0, this.#stop.signal); // one listener for each running scan
    this.#options = options;
  }

  /** Aborts all scans. */
  stop(): void {
    this.#stop.abort(new Error('the provider has stopped'));
  }

  /** Stores the keys of the backing node in the claim. On failure, rejects and reports the node. */
  async read(claim: SlotClaim, backing: BackingNode): Promise<void> {
    let scan = this.#running.get(backing.id);
    if (!scan) {
      scan = this.#scan(backing).finally(() => this.#running.delete(backing.id));
      this.#running.set(backing.id, scan);
    }
    claim.hostKeys = await scan;
  }

  async #scan(backing: BackingNode): Promise<string[]> {
    const { context, scan, timeoutMs, failed } = this.#options;
    const { interfaceIp: host, connectionPort: port, connectionType } = backing.record;
    try {
      if (host === null || typeof port !== 'number') {
        throw new LaunchError('address', `backing node ${backing.id} has no address and port to connect to`);
      }
      const { clock, logger, random } = context;
      const signal = this.#stop.signal;
      const options = { host, port, connectionType, timeoutMs, clock, logger, random, signal };
      return await this.#queue.run(() => scan(options), signal);
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        context.logger.warn('Closed backing node: reading its host keys failed', {
          nodeId: backing.id,
          error,
        });
        failed(backing);
      }
      throw error;
    }
  }
}
