import type { NodeId, NodeRecord, Resources } from '@nodepool/zk-protocol';
import { storedPart } from '../../contract/resources.js';
import type { Launch } from '../state/events.js';
import type { Totals } from './totals.js';

/** A node promised to an accepted request. */
interface NodePromise {
  readonly label: string;
  readonly need: Resources;
  /** Promised by a second pool that works on the same request, so it does not count for the tenant again. */
  readonly isExtra: boolean;
}

/** The nodes promised to one request: each promise counts until the record of a node replaces it. */
export class RequestPromises {
  /** Number of this launcher's pools that work on the request; more than one only for a moment. */
  pools = 1;
  readonly tenant: string | null;
  readonly #totals: Totals;
  /** Promises without a launch or node, by label. */
  readonly #open = new Map<string, NodePromise[]>();
  /** Promises with a launch. */
  readonly #launched = new Map<Launch, NodePromise>();
  /** Promises that are replaced by a node's record. */
  readonly #kept = new Map<NodeId, NodePromise>();

  constructor(totals: Totals, tenant: string | null) {
    this.#totals = totals;
    this.tenant = tenant;
  }

  /** Promises a node of the label. */
  add(label: string, need: Resources): void {
    this.#reopen({ label, need: storedPart(need), isExtra: false });
  }

  launchBegun(launch: Launch): void {
    const open = this.#takeOpen([launch.label]);
    const promise = open ?? { label: launch.label, need: storedPart(launch.need), isExtra: true };
    this.#launched.set(launch, promise);
    this.#countLaunched(launch, promise, 1);
  }

  /** @returns whether the launch counted until now */
  launchEnded(launch: Launch): boolean {
    const promise = this.#takeLaunched(launch);
    if (promise) this.#reopen(promise);
    return promise !== undefined;
  }

  /**
   * Replaces a promise by the record of a node.
   * @param isMade - the node was made for the request; otherwise it was ready, and launches continue beside it
   */
  keep(node: NodeRecord, isMade: boolean): void {
    const [launch] = this.#launchesFor(node);
    const ofLaunch = () => launch && this.#takeLaunched(launch);
    const open = () => this.#takeOpen(node.labels);
    const promise = isMade ? (ofLaunch() ?? open()) : (open() ?? ofLaunch());
    if (promise) this.#kept.set(node.id, promise);
  }

  /** The node does not serve the request any more: its promise counts again. */
  lose(id: NodeId): void {
    const promise = this.#kept.get(id);
    if (!promise) return;
    this.#kept.delete(id);
    this.#reopen(promise);
  }

  /** Ends all promises. @returns whether any counted until now */
  end(): boolean {
    let wasSome = this.#launched.size > 0;
    for (const launch of [...this.#launched.keys()]) this.#takeLaunched(launch);
    for (const label of this.#open.keys()) while (this.#takeOpen([label])) wasSome = true;
    return wasSome;
  }

  *#launchesFor({ provider, pool, labels }: NodeRecord): Generator<Launch> {
    for (const launch of this.#launched.keys()) {
      if (launch.provider === provider && launch.pool === pool && labels.includes(launch.label)) yield launch;
    }
  }

  #reopen(promise: NodePromise): void {
    if (promise.isExtra) return;
    const open = this.#open.get(promise.label);
    if (open) open.push(promise);
    else this.#open.set(promise.label, [promise]);
    this.#countOpen(promise, 1);
  }

  #takeOpen(labels: readonly string[]): NodePromise | undefined {
    for (const label of labels) {
      const promise = this.#open.get(label)?.pop();
      if (!promise) continue;
      this.#countOpen(promise, -1);
      return promise;
    }
    return undefined;
  }

  #takeLaunched(launch: Launch): NodePromise | undefined {
    const promise = this.#launched.get(launch);
    if (!promise) return undefined;
    this.#launched.delete(launch);
    this.#countLaunched(launch, promise, -1);
    return promise;
  }

  #countOpen({ label, need: resources }: NodePromise, factor: 1 | -1): void {
    this.#totals.count({ provider: null, pool: null, labels: [label], tenant: this.tenant, resources }, factor);
  }

  #countLaunched({ provider, pool, label, need }: Launch, { isExtra }: NodePromise, factor: 1 | -1): void {
    const tenant = isExtra ? null : this.tenant;
    this.#totals.count({ provider, pool, labels: [label], tenant, resources: storedPart(need) }, factor);
  }
}
