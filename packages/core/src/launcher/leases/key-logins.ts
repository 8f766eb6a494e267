import { leasePath, type LeaseKeyHost, type LeaseRecord, type NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { ScanQueue } from '../../async/scan-queue.js';
import type { LeaseKeyConfig } from '../../contract/config.js';
import { changeAuthorizedKeys, type KeyOrder } from '../../login/authorized-keys.js';
import { SshLoginError } from '../../login/errors.js';
import { readPrivateKey } from '../../login/private-key.js';
import { readPublicKey } from '../../login/public-key.js';
import { connectionDetails } from '../../text/connection-details.js';
import type { Context } from '../state/context.js';

/** Logins of this launcher at a time. */
const AT_ONCE = 16;
const LOGIN_TIMEOUT_MS = 15_000;
const SSH_PORT = 22;

/** The key could not be added to a node. */
export interface KeyFailure {
  readonly node: NodeRecord;
  readonly error: Error;
}

/** A provider whose nodes' keys cannot be changed at present. */
export interface FailingLogin {
  readonly provider: string;
  /** The last host. */
  readonly host: string;
  readonly error: Error;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
}

/** Logs in to nodes of leases with the launcher's own keys, to add and remove those of lessees. */
export class KeyLogins {
  readonly #context: Context;
  readonly #queue = new ScanQueue(AT_ONCE);
  readonly #stop = new AbortController();
  readonly #failing = new Map<string, FailingLogin>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Ends all logins. */
  stop(): void {
    this.#stop.abort(new Error('the launcher stops'));
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Providers for which the last key could not be added. */
  get failing(): readonly FailingLogin[] {
    return [...this.#failing.values()];
  }

  /** Whether this launcher serves the provider: others know neither its nodes nor its key. */
  serves(provider: string | null): boolean {
    return provider !== null && this.#context.config.now.providers.has(provider);
  }

  /** How to log in to nodes of the provider; `undefined`: not at all. */
  configOf(provider: string | null): LeaseKeyConfig | undefined {
    return provider === null ? undefined : this.#context.config.now.leaseKeys?.get(provider);
  }

  /** The nodes whose hosts live on after the lease: the key has to be removed there. */
  keyHostsOf(nodes: readonly NodeRecord[]): LeaseKeyHost[] {
    return nodes.filter(({ provider }) => this.configOf(provider)?.isKeptOn).map(keyHostOf);
  }

  /**
   * Adds the key of a lease to nodes that are on hold for it.
   * @param lease - as stored: a key is added only while this version is the current one
   * @returns those nodes to which it could not be added
   */
  async add(lease: LeaseRecord, nodes: readonly NodeRecord[]): Promise<KeyFailure[]> {
    const results = await Promise.allSettled(nodes.map((node) => this.#addTo(lease, node)));
    return results.flatMap((result, i) => {
      const node = nodes[i];
      return node && result.status === 'rejected' ? [{ node, error: asError(result.reason) }] : [];
    });
  }

  /** Removes the key of a lease from a host. @throws {SshLoginError} it may be there still */
  async remove(lease: LeaseRecord, keyHost: LeaseKeyHost): Promise<void> {
    await this.#change(lease, 'remove', keyHost, () => Promise.resolve(true));
  }

  async #addTo(lease: LeaseRecord, node: NodeRecord): Promise<void> {
    const { clock, logger } = this.#context;
    const provider = node.provider ?? '';
    const keyHost = keyHostOf(node);
    try {
      await this.#change(lease, 'add', keyHost, () => this.#isCurrent(lease));
      this.#failing.delete(provider);
      logger.debug('Added the key of a lease', { lease: lease.id, nodeId: node.id, host: keyHost.host });
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        const lastSeenMs = clock.now();
        const { sinceMs } = this.#failing.get(provider) ?? { sinceMs: lastSeenMs };
        this.#failing.set(provider, { provider, host: keyHost.host, error: asError(error), sinceMs, lastSeenMs });
        logger.warn('Could not add the key of a lease', { lease: lease.id, nodeId: node.id, provider, error });
      }
      throw error;
    }
  }

  async #change(
    lease: LeaseRecord,
    order: KeyOrder['order'],
    { provider, host, port, username, hostKeys }: LeaseKeyHost,
    isWanted: KeyOrder['isWanted'],
  ): Promise<void> {
    const { clock } = this.#context;
    const { signal } = this.#stop;
    const file = this.configOf(provider)?.file;
    if (file === undefined) {
      throw new SshLoginError('key-file', `provider "${provider}" has no "lease-ssh-key", so no launcher can log in`);
    }
    const { key, problem } = readPublicKey(lease.sshKey ?? '');
    if (key === undefined) throw new SshLoginError('not-done', `the lease has no public key: ${problem}`);
    await this.#queue.run(async () => {
      const privateKey = await readPrivateKey(file);
      const login = { host, port, username, hostKeys, privateKey, clock, timeoutMs: LOGIN_TIMEOUT_MS, signal };
      await changeAuthorizedKeys(login, { order, key, mark: `nodepool-lease-${lease.id}`, isWanted });
    }, signal);
  }

  /** Reads from ZooKeeper whether this version of the lease is the current one. */
  async #isCurrent({ id, stat }: LeaseRecord): Promise<boolean> {
    const { zk } = this.#context;
    await zk.sync('/');
    return stat !== undefined && (await zk.getData(leasePath(id))).stat.version === stat.version;
  }
}

function keyHostOf(node: NodeRecord): LeaseKeyHost {
  const { address, port, username } = connectionDetails(node);
  return {
    ...{ nodeId: node.id, provider: node.provider ?? '', host: address ?? '', port: port ?? SSH_PORT },
    ...{ username: username ?? 'zuul', hostKeys: node.hostKeys, error: null },
  };
}
