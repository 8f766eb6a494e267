import type { LeaseKeyHost, LeaseRecord, NodeId } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { Context } from '../state/context.js';
import { isKeyLeft, loginId } from '../state/left-keys.js';
import { NO_KEY_MS } from './key-adding.js';
import type { KeyLogins } from './key-logins.js';
import type { Step } from './lease-step.js';
import { writeLease } from './lease-writes.js';
import { isOver, type Leases } from './leases.js';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };

/**
 * Removes the keys of lessees from hosts that live on. The record of the lease names these hosts until it is done, so any launcher
 * that serves the provider does it, also after all of them were killed. A host from which a key cannot be removed is not lent,
 * see {@link LeftKeys}.
 */
export class KeyRemoval {
  readonly #context: Context;
  readonly #leases: Leases;
  readonly #logins: KeyLogins;

  constructor(context: Context, leases: Leases, logins: KeyLogins) {
    this.#context = context;
    this.#leases = leases;
    this.#logins = logins;
  }

  /** The next step of a lease whose key is or may be on hosts. @returns `undefined`: it stays, or other launchers remove it */
  nextStep(lease: LeaseRecord): Step | undefined {
    const hosts = this.#dueHosts(lease);
    if (hosts.length === 0) return undefined;
    const lacksKeys = hosts.every(({ provider }) => this.#logins.lacksKey(provider));
    const sinceMs = Math.max(lease.stateTimeMs, lease.keySettledTimeMs ?? 0) + (lacksKeys ? NO_KEY_MS : 0);
    return { sinceMs, retry: RETRY, run: () => this.#logins.inTurn(() => this.#remove(lease.id)) };
  }

  /** Hosts from which a launcher of their provider is to remove the key now. While the key is being added, it is none. */
  #dueHosts(lease: LeaseRecord): LeaseKeyHost[] {
    if (lease.state === 'waiting' && lease.nodeIds.length > 0) return [];
    const { config, mirror } = this.#context;
    return lease.keyHosts.filter(
      (host) => config.now.providers.has(host.provider) && (isOver(lease) || isKeyLeft(host, mirror)),
    );
  }

  /** @throws the error of a host from which it could not be removed */
  async #remove(id: string): Promise<void> {
    await this.#leases.settle(); // the mirror may show the lease before it shows its nodes
    const lease = this.#leases.get(id);
    if (!lease) return;
    const due = this.#dueHosts(lease);
    const used = new Set(lease.keyHosts.filter((host) => !due.includes(host)).map(loginId));
    const errors = new Map<NodeId, Error | undefined>();
    const remove = async (host: LeaseKeyHost) => {
      // another node of the lease on the same host needs the key; its own removal follows
      errors.set(host.nodeId, used.has(loginId(host)) ? undefined : await this.#removeFrom(lease, host));
    };
    await Promise.all(due.map(remove));
    this.#context.life.signal.throwIfAborted();
    await this.#store(id, errors);
    const failed = [...errors.values()].find((error) => error !== undefined);
    if (failed) throw failed;
  }

  /** @returns why it could not be removed */
  async #removeFrom(lease: LeaseRecord, host: LeaseKeyHost): Promise<Error | undefined> {
    const { logger } = this.#context;
    const fields = { lease: lease.id, nodeId: host.nodeId, host: host.host, provider: host.provider };
    try {
      await this.#logins.remove(lease, host);
      logger.info('Removed the key of a lease', fields);
      return undefined;
    } catch (error) {
      logger.warn('Could not remove the key of a lease; its host is out of service', { ...fields, error });
      return asError(error);
    }
  }

  /** Stores where the key is gone, and why it could not be removed elsewhere. */
  async #store(id: string, errors: ReadonlyMap<NodeId, Error | undefined>): Promise<void> {
    await this.#leases.change(id, (lease) => {
      const keyHosts = lease.keyHosts.flatMap((host) => {
        const error = errors.get(host.nodeId)?.message;
        if (errors.has(host.nodeId) && error === undefined) return [];
        return [error === undefined || error === host.error ? host : { ...host, error }];
      });
      const isSame =
        keyHosts.length === lease.keyHosts.length && keyHosts.every((host, i) => host === lease.keyHosts[i]);
      return isSame ? undefined : writeLease(this.#context, lease, { keyHosts });
    });
  }
}
