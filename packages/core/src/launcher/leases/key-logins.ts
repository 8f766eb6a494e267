import type { LeaseKeyHost, LeaseRecord, NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { ScanQueue } from '../../async/scan-queue.js';
import type { LeaseKeyConfig } from '../../contract/config.js';
import { changeAuthorizedKeys, type KeyOrder } from '../../login/authorized-keys.js';
import { SshLoginError } from '../../login/errors.js';
import { readPrivateKey } from '../../login/private-key.js';
import { readPublicKey } from '../../login/public-key.js';
import { connectionDetails } from '../../text/connection-details.js';
import type { Context } from '../state/context.js';
import { proveUnchanged } from './lease-writes.js';

/** Leases for which this launcher logs in at a time. */
const AT_ONCE = 16;
const LOGIN_TIMEOUT_MS = 15_000;
const SSH_PORT = 22;

/** The key could not be added to a node. */
export interface KeyFailure {
  readonly node: NodeRecord;
  readonly error: SshLoginError;
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
  readonly #failing = new Map<string, FailingLogin>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Providers for which the last key could not be added. */
  get failing(): readonly FailingLogin[] {
    return [...this.#failing.values()].filter(({ provider }) => this.configOf(provider));
  }

  /** How to log in to nodes of the provider; `undefined`: this launcher does not log in there. */
  configOf(provider: string | null): LeaseKeyConfig | undefined {
    return provider === null ? undefined : this.#context.config.now.leaseKeys?.get(provider);
  }

  /** Whether this launcher serves the provider, but has no key for it. */
  lacksKey(provider: string | null): boolean {
    return provider !== null && this.#context.config.now.providers.has(provider) && !this.configOf(provider);
  }

  /** The nodes whose hosts live on after the lease: the key has to be removed there. */
  keyHostsOf(nodes: readonly NodeRecord[]): LeaseKeyHost[] {
    return nodes.filter(({ provider }) => this.configOf(provider)?.isKeptOn).map(keyHostOf);
  }

  /** Runs the logins of one lease when it is its turn. The logins themselves end in time, also if hosts do not answer. */
  inTurn<T>(run: () => Promise<T>): Promise<T> {
    return this.#queue.run(run, this.#context.life.signal);
  }

  /**
   * Adds the key of a lease to nodes that are on hold for it.
   * @param lease - as stored: a key is added only while this version is the current one
   * @returns those nodes to which it could not be added
   * @throws {Refusal} the lease was changed meanwhile
   * @throws {ZooKeeperError} it is not known whether it was
   */
  async add(lease: LeaseRecord, nodes: readonly NodeRecord[]): Promise<KeyFailure[]> {
    const results = await Promise.allSettled(nodes.map((node) => this.#addTo(lease, node)));
    this.#context.life.signal.throwIfAborted();
    return results.flatMap((result, i) => {
      const node = nodes[i];
      if (!node || result.status === 'fulfilled') return [];
      const error = asError(result.reason);
      if (!(error instanceof SshLoginError)) throw error;
      return [{ node, error }];
    });
  }

  async #addTo(lease: LeaseRecord, node: NodeRecord): Promise<void> {
    const { logger } = this.#context;
    const keyHost = keyHostOf(node);
    const { provider, host } = keyHost;
    try {
      await this.#change(lease, 'add', keyHost, () => proveUnchanged(this.#context, lease));
      this.#failing.delete(provider);
      logger.debug('Added the key of a lease', { lease: lease.id, nodeId: node.id, host });
    } catch (error) {
      if (error instanceof SshLoginError) this.#addFailed(lease, keyHost, error);
      throw error;
    }
  }

  #addFailed(lease: LeaseRecord, { nodeId, provider, host }: LeaseKeyHost, error: SshLoginError): void {
    const { clock, life, logger } = this.#context;
    if (life.signal.aborted) return;
    const lastSeenMs = clock.now();
    const { sinceMs } = this.#failing.get(provider) ?? { sinceMs: lastSeenMs };
    this.#failing.set(provider, { provider, host, error, sinceMs, lastSeenMs });
    logger.warn('Could not add the key of a lease', { lease: lease.id, nodeId, provider, error });
  }

  /** Removes the key of a lease from a host. @throws {SshLoginError} it may be there still */
  remove(lease: LeaseRecord, keyHost: LeaseKeyHost): Promise<void> {
    return this.#change(lease, 'remove', keyHost);
  }

  async #change(
    lease: LeaseRecord,
    order: KeyOrder['order'],
    { provider, host, port, username, hostKeys }: LeaseKeyHost,
    beforeSend?: KeyOrder['beforeSend'],
  ): Promise<void> {
    const { clock, life } = this.#context;
    const file = this.configOf(provider)?.file;
    if (file === undefined) throw noKeyFile(provider);
    const { key, problem } = readPublicKey(lease.sshKey ?? '');
    if (key === undefined) throw new SshLoginError('not-done', `the lease has no public key: ${problem}`);
    const privateKey = await readPrivateKey(file);
    const login = { host, port, username, hostKeys, privateKey, clock, timeoutMs: LOGIN_TIMEOUT_MS };
    const mark = `nodepool-lease-${lease.id}`;
    await changeAuthorizedKeys({ ...login, signal: life.signal }, { order, key, mark, beforeSend });
  }
}

/** This launcher has no key with which it could log in to nodes of the provider. */
export function noKeyFile(provider: string): SshLoginError {
  const fix = 'set it for all launchers of the provider';
  return new SshLoginError('key-file', `provider "${provider}" has no "lease-ssh-key" at this launcher: ${fix}`);
}

function keyHostOf(node: NodeRecord): LeaseKeyHost {
  const { address, port, username } = connectionDetails(node);
  return {
    ...{ nodeId: node.id, provider: node.provider ?? '', host: address ?? '', port: port ?? SSH_PORT },
    ...{ username: username ?? 'zuul', hostKeys: node.hostKeys, error: null },
  };
}
