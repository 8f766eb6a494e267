import {
  delay,
  isIdle,
  isStartable,
  type CancelTimer,
  type Clock,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import type { ProviderContext, UnusableNode } from '../../contract/driver.js';
import type { Instance } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import type { InstanceList } from '../operations/instance-list.js';
import { INSTANCES, type EntryReader } from '../operations/unreadable-entries.js';
import { RUNNING, sharedAddresses } from './shared-address.js';
import type { Adapter } from './types.js';

/** What a look at the machines of existing nodes needs. */
export interface MachineWatchOptions {
  readonly context: Pick<ProviderContext, 'ownNodes' | 'withdrawNode' | 'nodeUnusable'> & {
    readonly nodes: { get(id: string): NodeRecord | undefined };
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly instances: Pick<InstanceList, 'list' | 'lookAt' | 'mark' | 'onLearned' | 'lastSeen'>;
  readonly adapter: Pick<Adapter, 'hasInstance' | 'getInstance' | 'listLagMs'>;
  /** Instances that lists have, and that cannot be read. Default: none. */
  readonly entries?: Pick<EntryReader, 'mayHide'> | undefined;
}

/** What is wrong with the machine of a node. */
interface Fault {
  readonly node: NodeRecord;
  readonly why: string;
  /** No list shows the instance. */
  readonly isGone: boolean;
}

/** Two looks and the withdrawal fit into a minute, though a list may be as old as the look before. */
const INTERVAL_MS = 20_000;
const SECOND_LOOK_MS = 5_000;
/** So many instances that a list lacks and that exist say that it is wrong. */
const MOST_UNLISTED = 3;
const GONE = 'its instance does not exist any more';

/**
 * Compares existing nodes with the list of instances that all machines share, and withdraws nodes that stand by and whose machine cannot
 * be used any more. Nodes that requests have are only reported. Everything is looked at twice, and what lists do not show is asked for by
 * its id, as lists may be incomplete; while the cloud does not answer nothing is withdrawn.
 */
export class MachineWatch {
  readonly #options: MachineWatchOptions;
  readonly #stop = new AbortController();
  readonly #unsubscribe: () => void;
  /** Found by the first look, and not lent until the second one. */
  #suspects: ReadonlySet<NodeId> = new Set();
  #found: ReadonlyMap<NodeId, UnusableNode> = new Map();
  /** Nodes at the last look, by external id. */
  #watched: ReadonlyMap<string, NodeId> = new Map();
  /** Instances that exist although no list shows them. */
  readonly #unlisted = new Set<string>();
  /** The last look: lists of other callers since then are used. */
  #mark = 0;
  #timer: CancelTimer | undefined;
  #isLooking = false;

  constructor(options: MachineWatchOptions) {
    this.#options = options;
    this.#unsubscribe = options.instances.onLearned((externalId) => this.#learned(externalId));
  }

  /** Looks at once, and then regularly. */
  start(): void {
    this.#plan(0);
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer?.();
    this.#timer = undefined;
    this.#stop.abort(new Error('the provider stops'));
  }

  /** Nodes whose machine cannot be used, as the last look found. */
  get found(): readonly UnusableNode[] {
    return [...this.#found.values()];
  }

  /** Whether the node must not be lent: its machine seems to be unusable. */
  isSuspect(id: NodeId): boolean {
    return this.#suspects.has(id) || this.#found.has(id);
  }

  /** Looks once. Rejects if the instances cannot be listed. */
  async look(signal: AbortSignal): Promise<void> {
    const { instances, clock, context } = this.#options;
    const before = this.#watched;
    const nodes = [...context.ownNodes()].filter(hasMachine);
    this.#watched = new Map(nodes.map((node) => [idOf(node), node.id]));
    // a list since the last look may be older than a node that was made since
    const isNewer = nodes.some((node) => before.get(idOf(node)) !== node.id);
    const since = isNewer ? instances.mark() : this.#mark;
    this.#mark = instances.mark();
    const first = nodes.length === 0 ? [] : this.#faultsOf(nodes, await instances.list(since, signal));
    this.#suspects = new Set(first.map(({ node }) => node.id));
    if (first.length > 0) await delay(clock, SECOND_LOOK_MS, signal);
    const faults = first.length === 0 ? [] : await this.#secondLook(first, signal);
    await this.#act([...faults, ...sharedFaults(nodes)]);
    this.#suspects = new Set();
  }

  async #secondLook(first: readonly Fault[], signal: AbortSignal): Promise<Fault[]> {
    const { instances, context } = this.#options;
    const listed = await instances.list(instances.mark(), signal);
    const nodes = first.flatMap(({ node }) => {
      const now = context.nodes.get(node.id); // it may have been stopped or deleted on purpose
      return now && hasMachine(now) && now.externalId === node.externalId ? [now] : [];
    });
    const faults = this.#faultsOf(nodes, listed);
    const confirmed = faults.filter(({ isGone }) => !isGone);
    const unlisted: string[] = [];
    for (const fault of faults.filter(({ isGone }) => isGone)) {
      const externalId = idOf(fault.node);
      const exists = await this.#exists(fault.node, externalId, signal);
      if (exists === false) confirmed.push(fault);
      if (exists === true) unlisted.push(externalId);
      if (unlisted.length === MOST_UNLISTED) break; // what else the list lacks proves nothing
    }
    for (const externalId of unlisted) this.#unlisted.add(externalId);
    if (unlisted.length > 0) this.#options.logger.warn('The list of instances lacks some that exist', { unlisted });
    return confirmed;
  }

  /** Whether an instance exists that no list shows; `undefined`: the cloud does not say. */
  async #exists(node: NodeRecord, externalId: string, signal: AbortSignal): Promise<boolean | undefined> {
    const { instances, adapter, logger, entries } = this.#options;
    try {
      if (adapter.hasInstance) return await adapter.hasInstance(node, signal);
      if (!adapter.getInstance && entries?.mayHide(INSTANCES, externalId)) return undefined;
      const shown = await instances.lookAt(externalId, signal);
      return shown !== undefined && !shown.deleted;
    } catch (error) {
      signal.throwIfAborted();
      logger.debug('Looking for an instance by its id failed', { externalId, error });
      return undefined;
    }
  }

  #faultsOf(nodes: readonly NodeRecord[], listed: readonly Instance[]): Fault[] {
    const { clock, adapter } = this.#options;
    const shown = new Map(listed.map((instance) => [instance.externalId, instance]));
    return nodes.flatMap((node): Fault[] => {
      const externalId = idOf(node);
      const instance = shown.get(externalId);
      if (instance) this.#unlisted.delete(externalId);
      if (!instance || instance.deleted) {
        if (this.#unlisted.has(externalId)) return [];
        const isNew = clock.now() - node.stateTimeMs < (adapter.listLagMs ?? 0);
        return isNew ? [] : [{ node, why: GONE, isGone: true }];
      }
      if (isStartable(node) || instance.unusable === undefined) return [];
      return [{ node, why: `its instance cannot be used: ${instance.unusable}`, isGone: false }];
    });
  }

  async #act(faults: readonly Fault[]): Promise<void> {
    const { context, clock, logger } = this.#options;
    const nowMs = clock.now();
    const before = this.#found;
    this.#found = new Map(
      faults.map(({ node: { id }, why }) => {
        const sinceMs = before.get(id)?.sinceMs ?? nowMs;
        return [id, { nodeId: id, why, sinceMs, lastSeenMs: nowMs }];
      }),
    );
    for (const { node, why } of faults) {
      const fields = { nodeId: node.id, externalId: node.externalId, state: node.state, why };
      if (!before.has(node.id)) logger.warn('The machine of a node cannot be used any more', fields);
      // a request may have taken it since the list was read
      if (!isIdle(node) || !(await this.#withdraw(node.id, why))) context.nodeUnusable?.(node.id, why);
    }
  }

  async #withdraw(nodeId: NodeId, why: string): Promise<boolean> {
    const { context, logger } = this.#options;
    let isWithdrawn = false;
    try {
      isWithdrawn = (await context.withdrawNode?.(nodeId, why)) ?? false;
      if (isWithdrawn) logger.warn('Withdrew a node', { nodeId, why });
    } catch (error) {
      logger.warn('Withdrawing a node failed; trying again at the next look', { nodeId, error });
    }
    return isWithdrawn;
  }

  /** A cloud that pushes changes shows at once what the next look would find. */
  #learned(externalId: string | undefined): void {
    if (externalId === undefined || this.#isLooking) return;
    const node = this.#options.context.nodes.get(this.#watched.get(externalId) ?? '');
    if (!node || !hasMachine(node)) return;
    const instance = this.#options.instances.lastSeen(externalId);
    const isFine = instance && !instance.deleted && instance.unusable === undefined;
    if (!isFine && this.#timer) this.#plan(0);
  }

  #plan(ms: number): void {
    this.#timer?.();
    if (this.#stop.signal.aborted) return;
    this.#timer = this.#options.clock.setTimer(ms, () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#isLooking = true;
    try {
      await this.look(this.#stop.signal);
    } catch (error) {
      this.#suspects = new Set();
      if (!this.#stop.signal.aborted) this.#options.logger.debug('Looking at the machines of nodes failed', { error });
    }
    this.#isLooking = false;
    this.#plan(INTERVAL_MS);
  }
}

/** External id of a node that has a machine. */
function idOf({ externalId }: NodeRecord): string {
  return typeof externalId === 'string' ? externalId : '';
}

function hasMachine(node: NodeRecord): boolean {
  return typeof node.externalId === 'string' && (RUNNING.has(node.state) || isStartable(node));
}

/** Of nodes with one address the younger cannot be told from the older. */
function sharedFaults(nodes: readonly NodeRecord[]): Fault[] {
  return sharedAddresses(nodes.filter(({ state }) => RUNNING.has(state))).map(({ younger, why }) => ({
    ...{ node: younger, why, isGone: false },
  }));
}
