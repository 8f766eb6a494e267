import type { AdapterContext } from '@nodepool/core';
import { isStopped } from '@nodepool/zk-protocol';
import { nameOf, type ApiOperation } from './api.js';
import type { ComputeClient } from './client.js';

type Context = Pick<AdapterContext, 'nodes' | 'clock' | 'logger'>;

const REASON = 'Google preempted the Spot VM';

/** Reports preempted Spot VMs of nodes. */
export class Preemptions {
  readonly #provider: string;
  readonly #client: Pick<ComputeClient, 'listPreemptions'>;
  readonly #context: Context;
  /** Time of the newest reported preemption in each zone, ms since the epoch. */
  readonly #lastMs = new Map<string, number>();
  readonly #sinceMs: number;

  constructor(provider: string, client: Pick<ComputeClient, 'listPreemptions'>, context: Context) {
    this.#provider = provider;
    this.#client = client;
    this.#context = context;
    this.#sinceMs = context.clock.now();
  }

  /**
   * Reports those that came since the last time, in the log. A zone whose operations cannot be listed is logged, and looked at again the
   * next time.
   */
  async report(zones: readonly string[], signal: AbortSignal): Promise<void> {
    for (const zone of zones) {
      try {
        await this.#reportZone(zone, signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#context.logger.warn('Listing preempted Spot VMs failed', { zone, error });
      }
    }
  }

  /** Compares times here, because the API refuses such filters. Its times have an offset, such as -07:00. */
  async #reportZone(zone: string, signal: AbortSignal): Promise<void> {
    const sinceMs = this.#lastMs.get(zone) ?? this.#sinceMs;
    let lastMs = sinceMs;
    for (const operation of await this.#client.listPreemptions(zone, signal)) {
      const insertedMs = Date.parse(operation.insertTime ?? '');
      if (insertedMs > sinceMs) this.#reportOne(zone, operation);
      if (insertedMs > lastMs) lastMs = insertedMs;
    }
    this.#lastMs.set(zone, lastMs);
  }

  #reportOne(zone: string, { targetLink = '' }: ApiOperation): void {
    const externalId = nameOf(targetLink);
    const node = this.#context.nodes.get(externalId.replace(/^np/, ''));
    if (node?.provider !== this.#provider || node.externalId !== externalId) return;
    if (isStopped(node)) return; // it was about to be stopped anyway, and can be started
    const { id: nodeId, state } = node;
    this.#context.logger.warn(REASON, { nodeId, externalId, zone, state });
  }
}
