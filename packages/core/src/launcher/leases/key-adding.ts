import { delay, type LeaseRecord, type NodeId, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { SETTLED_AFTER_MS } from '../../login/authorized-keys.js';
import { SshLoginError } from '../../login/errors.js';
import type { Context } from '../state/context.js';
import { isRefusal } from '../state/transaction.js';
import type { KeyFailure, KeyLogins } from './key-logins.js';
import { activate, holdForKey, requestAgain, takeOver } from './lease-writes.js';
import type { Leases } from './leases.js';
import { servedNodes } from './served-nodes.js';

/** How long other launchers leave it to the keeper of a lease to add its key: longer than a login may take. */
const ADDING_MS = 20_000;
/** How often nodes are tried, until a lease whose key cannot be added fails. */
const ATTEMPTS = 5;
/** How long the lock of a fulfilled request is waited for, and how often. */
const LOCKED_MS = 300;
const WRITES = 20;

/**
 * Adds the keys of lessees to the nodes of fulfilled requests before their leases are active. First the nodes are put on hold, so
 * that no other lessee gets a node with a key when a launcher dies; the request stays, so that it has kept its place if the key cannot
 * be added.
 */
export class KeyAdding {
  readonly #context: Context;
  readonly #leases: Leases;
  readonly #logins: KeyLogins;

  constructor(context: Context, leases: Leases, logins: KeyLogins) {
    this.#context = context;
    this.#leases = leases;
    this.#logins = logins;
  }

  /** The next step of a lease with a key. @returns `undefined`: launchers that serve the provider of the nodes do it */
  nextStep(lease: LeaseRecord, request: RequestRecord, sinceMs: number) {
    const node = this.#context.mirror.nodes.get(request.nodeIds[0] as NodeId);
    if (node && !this.#logins.serves(node.provider)) return undefined;
    if (lease.nodeIds.length === 0) return { sinceMs, run: () => this.#hold(lease, request) };
    const keptMs = lease.stat?.mtime ?? sinceMs;
    return { sinceMs: keptMs, keeperMs: ADDING_MS, run: () => this.#add(lease, request) };
  }

  async #hold(lease: LeaseRecord, request: RequestRecord): Promise<void> {
    const nodes = await servedNodes(this.#context, this.#leases, lease, request);
    if (!nodes?.every(({ provider }) => this.#logins.serves(provider))) return;
    await holdForKey(this.#context, this.#leases.kept(lease), request, nodes, this.#logins.keyHostsOf(nodes));
  }

  async #add(lease: LeaseRecord, request: RequestRecord): Promise<void> {
    const context = this.#context;
    if (!this.#leases.isKept(lease)) {
      const keySettledTimeMs = context.clock.now() + SETTLED_AFTER_MS; // its keeper may be adding the key
      await takeOver(context, this.#leases.kept(lease), { keySettledTimeMs });
      return;
    }
    const nodes = await servedNodes(context, this.#leases, lease, request);
    if (!nodes) return;
    const failures = await this.#logins.add(lease, nodes);
    if (this.#logins.isStopped) return; // another launcher continues
    if (failures.length === 0) await activate(context, this.#leases.kept(lease), request, nodes);
    else await this.#afterFailure(lease, request, nodes, failures);
  }

  async #afterFailure(
    lease: LeaseRecord,
    request: RequestRecord,
    nodes: readonly NodeRecord[],
    failures: readonly KeyFailure[],
  ): Promise<void> {
    const changed = this.#withFailures(lease, failures);
    if (changed.keyFailures < ATTEMPTS) return this.#requestAgain(changed, request, nodes);
    const why = failures.map(({ node, error }) => `${node.provider}: ${error.message}`).join('; ');
    await this.#leases.finish(changed, 'failed', `its SSH key could not be added on ${ATTEMPTS} attempts; ${why}`);
  }

  /** The launcher that fulfilled the request holds its lock for a moment longer; the host is not to see another login for that. */
  async #requestAgain(lease: LeaseRecord, request: RequestRecord, nodes: readonly NodeRecord[]): Promise<void> {
    const { clock, life } = this.#context;
    for (let write = 1; ; write++) {
      try {
        return await requestAgain(this.#context, lease, request, nodes);
      } catch (error) {
        const isLocked = isRefusal(error) && error.owner === 'request' && error.kind !== 'changed';
        if (!isLocked || write === WRITES) throw error;
      }
      await delay(clock, LOCKED_MS, life.signal);
    }
  }

  /** The key has to be removed where it was added, and where that is not known; but not where it was certainly not added. */
  #withFailures(lease: LeaseRecord, failures: readonly KeyFailure[]): LeaseRecord {
    const mayTakeEffect = ({ error }: KeyFailure) => error instanceof SshLoginError && error.mayTakeEffect;
    const without = new Set(failures.filter((failure) => !mayTakeEffect(failure)).map(({ node }) => node.id));
    const isUnsettled = failures.some(mayTakeEffect);
    return {
      ...this.#leases.kept(lease),
      keyHosts: lease.keyHosts.filter(({ nodeId }) => !without.has(nodeId)),
      keySettledTimeMs: isUnsettled ? this.#context.clock.now() + SETTLED_AFTER_MS : lease.keySettledTimeMs,
      keyFailures: lease.keyFailures + 1,
    };
  }
}
