import type { AdapterContext } from '@nodepool/core';
import { nameOf, type ApiOperation } from './api.js';
import type { ComputeClient } from './client.js';

type Context = Pick<AdapterContext, 'nodes' | 'clock' | 'logger' | 'withdrawNode'>;

const REASON = 'Google took the Spot VM away';

/** Notices Spot VMs that Google took away after they became nodes. */
export class Preemptions {
  readonly #provider: string;
  readonly #client: ComputeClient;
  readonly #context: Context;
  /** The newest one of each zone that was reported. */
  readonly #last = new Map<string, string>();
  readonly #since: string;

  constructor(provider: string, client: ComputeClient, context: Context) {
    this.#provider = provider;
    this.#client = client;
    this.#context = context;
    this.#since = new Date(context.clock.now()).toISOString();
  }

  /** Reports those that came since the last time. A node that stands by is withdrawn, so that no job gets it. */
  async report(zones: readonly string[], signal: AbortSignal): Promise<void> {
    for (const zone of zones) {
      const since = this.#last.get(zone) ?? this.#since;
      for (const operation of await this.#client.listPreemptions(zone, since, signal)) {
        await this.#reportOne(zone, operation);
      }
    }
  }

  async #reportOne(zone: string, { targetLink = '', insertTime = '' }: ApiOperation): Promise<void> {
    if (insertTime > (this.#last.get(zone) ?? '')) this.#last.set(zone, insertTime);
    const externalId = nameOf(targetLink);
    const node = this.#context.nodes.get(externalId.replace(/^np/, ''));
    if (node?.provider !== this.#provider || node.externalId !== externalId) return;
    const { id: nodeId, state } = node;
    this.#context.logger.warn(REASON, { nodeId, externalId, zone, state });
    await this.#context.withdrawNode?.(nodeId, REASON);
  }
}
