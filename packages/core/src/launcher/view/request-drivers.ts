import type { RequestRecord } from '@nodepool/zk-protocol';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';

/** The driver's side of requests that a pool has not accepted, each made once for the provider in force. */
export class RequestDrivers {
  readonly #known = new WeakMap<RequestRecord, { readonly provider: Provider; readonly driver: NodeRequestHandler }>();
  #provider: Provider;
  #pool: PoolConfig;

  constructor(provider: Provider, pool: PoolConfig) {
    this.#provider = provider;
    this.#pool = pool;
  }

  /** Another provider or configuration is in force. */
  use(provider: Provider, pool: PoolConfig): void {
    this.#provider = provider;
    this.#pool = pool;
  }

  of(request: RequestRecord): NodeRequestHandler {
    const known = this.#known.get(request);
    if (known?.provider === this.#provider) return known.driver;
    const driver = this.#provider.getRequestHandler(this.#pool, request);
    this.#known.set(request, { provider: this.#provider, driver });
    return driver;
  }

  /** The request is accepted: its driver's side belongs to the work on it from now on. */
  take(request: RequestRecord): NodeRequestHandler {
    const driver = this.of(request);
    this.#known.delete(request);
    return driver;
  }
}
