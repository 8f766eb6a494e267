import type { RequestRecord } from '@nodepool/zk-protocol';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { LivePoolView } from './pool-view.js';

/** The driver's side of requests that the pool has not accepted, each made once for the provider in force. */
export class RequestDrivers {
  readonly #view: Pick<LivePoolView, 'runner' | 'pool'>;
  readonly #known = new WeakMap<RequestRecord, { provider: Provider; handler: NodeRequestHandler }>();

  constructor(view: Pick<LivePoolView, 'runner' | 'pool'>) {
    this.#view = view;
  }

  of(request: RequestRecord): NodeRequestHandler {
    const { provider } = this.#view.runner;
    const known = this.#known.get(request);
    if (known?.provider === provider) return known.handler;
    const handler = provider.getRequestHandler(this.#view.pool, request);
    this.#known.set(request, { provider, handler });
    return handler;
  }

  /** The request has been accepted: its handler is another's from now on. */
  forget(request: RequestRecord): void {
    this.#known.delete(request);
  }
}
