import type { LeaseRecord, NodeId, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { noKeyFile, type KeyFailure, type KeyLogins } from './key-logins.js';
import type { Step } from './lease-step.js';
import { activate, holdForKey, requestAgain, writeLease } from './lease-writes.js';
import type { Leases } from './leases.js';
import { servedNodes } from './served-nodes.js';

/** How long other launchers leave it to the keeper of a lease to add its key: longer than a login may take. */
const ADDING_MS = 20_000;
/** How long launchers without the provider's key wait for one that has it. */
export const NO_KEY_MS = 60_000;
/** How often nodes are tried, until a lease whose key cannot be added fails. */
const ATTEMPTS = 5;

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

  /**
   * The next step of a lease with a key.
   * @param sinceMs - when its request was fulfilled
   * @returns `undefined`: launchers that serve the provider of the nodes do it
   */
  nextStep(lease: LeaseRecord, request: RequestRecord, sinceMs: number): Step | undefined {
    const node = this.#context.mirror.nodes.get(request.nodeIds[0] as NodeId);
    if (node && this.#logins.lacksKey(node.provider)) {
      return { sinceMs: sinceMs + NO_KEY_MS, run: () => this.#fail(lease, request) };
    }
    if (node && !this.#logins.configOf(node.provider)) return undefined;
    if (lease.nodeIds.length === 0) {
      return { sinceMs, run: () => this.#logins.inTurn(() => this.#hold(lease, request)) };
    }
    const run = () => this.#logins.inTurn(() => this.#resume(lease, request));
    return { sinceMs: lease.stat?.mtime ?? sinceMs, keeperMs: ADDING_MS, run };
  }

  async #hold(lease: LeaseRecord, request: RequestRecord): Promise<void> {
    const nodes = await servedNodes(this.#context, this.#leases, lease, request);
    if (!nodes) return;
    const keyHosts = this.#logins.keyHostsOf(nodes);
    const held = await holdForKey(this.#context, this.#leases.kept(lease), request, nodes, keyHosts);
    await this.#add(held, request, true);
  }

  /** Its keeper died or was too slow, or something has changed. The write ends logins of others that have not sent their order. */
  async #resume(lease: LeaseRecord, request: RequestRecord): Promise<void> {
    const keyFailures = lease.keyFailures + (this.#leases.isKept(lease) ? 0 : 1);
    if (keyFailures >= ATTEMPTS) {
      await this.#leases.finish(lease, 'failed', `its SSH key was not added in time on ${ATTEMPTS} attempts`);
      return;
    }
    await this.#add(await writeLease(this.#context, this.#leases.kept(lease), { keyFailures }), request, false);
  }

  /** @param isFirst - no login was begun for these nodes before */
  async #add(lease: LeaseRecord, request: RequestRecord, isFirst: boolean): Promise<void> {
    const nodes = await servedNodes(this.#context, this.#leases, lease, request);
    if (!nodes) return;
    const failures = await this.#logins.add(lease, nodes);
    if (failures.length === 0) return activate(this.#context, lease, request, nodes);
    // the key has to be removed where it was added, and where that is not known; but not where it was certainly not added
    const isAbsent = ({ error }: KeyFailure) => isFirst && !error.mayTakeEffect;
    const absent = new Set(failures.filter(isAbsent).map(({ node }) => node.id));
    const keyHosts = lease.keyHosts.filter(({ nodeId }) => !absent.has(nodeId));
    await this.#afterFailure({ ...lease, keyHosts }, request, nodes, failures);
  }

  /** No launcher with the provider's key came: other nodes may be of another provider. */
  async #fail(lease: LeaseRecord, request: RequestRecord): Promise<void> {
    const nodes = await servedNodes(this.#context, this.#leases, lease, request);
    if (!nodes) return;
    const failures = nodes.map((node) => ({ node, error: noKeyFile(node.provider ?? '') }));
    await this.#afterFailure(lease, request, nodes, failures);
  }

  async #afterFailure(
    lease: LeaseRecord,
    request: RequestRecord,
    nodes: readonly NodeRecord[],
    failures: readonly KeyFailure[],
  ): Promise<void> {
    const failed = { ...this.#leases.kept(lease), keyFailures: lease.keyFailures + 1 };
    if (failed.keyFailures < ATTEMPTS) return requestAgain(this.#context, failed, request, nodes);
    const why = failures.map(({ node, error }) => `${node.provider}: ${error.message}`).join('; ');
    await this.#leases.finish(failed, 'failed', `its SSH key could not be added on ${ATTEMPTS} attempts; ${why}`);
  }
}
