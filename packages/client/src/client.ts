import { acquire, type LeaseOptions } from './acquire.js';
import { LeaseCalls } from './calls.js';
import type { Lease } from './lease.js';
import { Transport } from './transport.js';
import type { LeaseInfo, LeaseState } from './types.js';

/** How long a call is repeated while the server cannot be reached. */
const RETRY_MS = 30_000;

/** Where the server is, and who calls. */
export interface ClientOptions {
  /**
   * Address of the web server of any launcher, or of a proxy for several: `https://nl01:8005`. On the launcher's computer, also its
   * socket: `unix:/var/lib/nodepool/web-socket/socket`.
   */
  readonly url: string;
  /** Of `nodepool token create`. A socket needs none: there, you are the user of the process. */
  readonly token?: string | undefined;
  /** Certificates (PEM) of the authorities to trust, instead of those that Node.js knows. */
  readonly ca?: string | undefined;
  /** Whether the token may be sent over plain HTTP to another computer, where others can read it on the way. Default: no. */
  readonly insecure?: boolean | undefined;
  /** How long a call is repeated while the server does not answer or has an error of its own; default 30 s. */
  readonly retryMs?: number | undefined;
  /** Called with each failure after which a call is repeated. */
  readonly onRetry?: ((error: Error) => void) | undefined;
}

/** Leases of a Nodepool server. */
export class NodepoolClient {
  /** Address of the server. */
  readonly url: string;
  readonly #transport: Transport;
  readonly #calls: LeaseCalls;

  /** Sends nothing yet. @throws NodepoolClientError `wrong-argument`, `insecure` */
  constructor({ url, token, ca, insecure, retryMs = RETRY_MS, onRetry = () => {} }: ClientOptions) {
    this.#transport = new Transport({ url, token, ca, insecure });
    this.#calls = new LeaseCalls(this.#transport, retryMs, onRetry);
    this.url = this.#transport.url;
  }

  /**
   * Requests one node for each label, and waits until all are there.
   * @throws LeaseOverError `lease-failed` or `lease-ended`; RefusedError; UnreachableError; the signal's reason. Nothing stays
   *   leased then
   */
  lease(labels: readonly string[], options: LeaseOptions = {}): Promise<Lease> {
    return acquire(this.#calls, labels, options);
  }

  /** Own leases that are not over; with an admin token, those of all owners. With `state`, also those that were over recently. */
  list(query: { readonly owner?: string; readonly state?: LeaseState | 'all' } = {}): Promise<LeaseInfo[]> {
    return this.#calls.list(query);
  }

  /** One lease; while it waits, with what it waits for. @throws RefusedError `unknown-lease` */
  get(id: string): Promise<LeaseInfo> {
    return this.#calls.get(id);
  }

  /** Keeps a lease for this time from now. @throws RefusedError `over`, `ttl-too-long`, `max-hold-age` */
  renew(id: string, ttlMs: number): Promise<LeaseInfo> {
    return this.#calls.renew(id, ttlMs);
  }

  /** Returns the nodes of a lease, or stops its wait. A lease that is over is no error. @throws RefusedError `unknown-lease` */
  release(id: string): Promise<LeaseInfo> {
    return this.#calls.end(id);
  }

  /** The labels that launchers offer, and whether their nodes can have a key of the lessee. Needs no token. */
  async labels(): Promise<{ readonly label: string; readonly takesSshKey: boolean }[]> {
    const labels = await this.#calls.labels();
    return labels.map(({ label, takes_ssh_key }) => ({ label: String(label), takesSshKey: takes_ssh_key === true }));
  }

  /** Why a request waits, or how one for these labels would be served, as `nodepool explain --json` prints it. */
  explain(
    subject: { readonly request: string } | { readonly labels: readonly string[] },
  ): Promise<Readonly<Record<string, unknown>>> {
    if ('request' in subject) return this.#calls.explain([['request', subject.request]]);
    return this.#calls.explain(subject.labels.map((label) => ['label', label]));
  }

  /** Closes idle connections, which do not keep the process alive. The client can be used further. */
  close(): void {
    this.#transport.close();
  }
}
