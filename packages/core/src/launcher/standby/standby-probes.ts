import { isZooKeeperError, type CancelTimer, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import type { Activity } from '../mirror/ports.js';
import type { Services } from '../mirror/services.js';
import { isProbe } from '../plan/health-rules.js';
import { StandbyRequests } from './standby-requests.js';

/** What the probes learn from the launcher around them. */
export interface StandbyProbesPort extends Activity {
  /**
   * A label kept on standby of which the provider is to make a node now, to find out whether it works again.
   * @returns `undefined` when it is not time, or the provider has no such label
   */
  readonly labelToProbe: (provider: string) => string | undefined;
}

/** After a probe that was not made, e.g. for lack of quota; what a probe finds out sets the time of the next. */
const AGAIN_MS = 30_000;

/**
 * Probes providers that fail or are slow with standby nodes, so that no request waits for a probe, whether or not standby
 * nodes are missing.
 */
export class StandbyProbes {
  readonly #services: Services;
  readonly #port: StandbyProbesPort;
  readonly #requests: StandbyRequests;
  /** Providers with a probe that nobody has begun yet, and its request as soon as that is seen. */
  readonly #waiting = new Map<string, RequestRecord | undefined>();
  readonly #timers = new Map<string, CancelTimer>();
  /** Requests whose end is being written. */
  readonly #ending = new Set<RequestId>();
  readonly #unsubscribe: () => void;

  constructor(services: Services, port: StandbyProbesPort) {
    this.#services = services;
    this.#port = port;
    this.#requests = new StandbyRequests(services);
    this.#unsubscribe = services.mirror.listen({
      onRequest: ({ before, after }) => this.#requestChanged(before, after),
    });
  }

  stop(): void {
    this.#unsubscribe();
    this.#requests.stop();
    for (const cancel of this.#timers.values()) cancel();
  }

  /** The provider fails, is well again, or it is time for a probe. */
  check(provider: string): void {
    if (!this.#port.isActive()) return;
    const label = this.#port.labelToProbe(provider);
    const request = this.#waiting.get(provider);
    if (label !== undefined && !this.#waiting.has(provider)) void this.#ask(provider, label);
    else if (label === undefined && request) this.#end(request);
  }

  async #ask(provider: string, label: string): Promise<void> {
    const { logger } = this.#services;
    this.#waiting.set(provider, undefined);
    try {
      const requestId = await this.#requests.ask(label, provider);
      logger.info('Asked for a standby node to probe a provider', { requestId, label, provider });
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.warn('Could not ask for a standby node to probe a provider', { label, provider, error });
      this.#waiting.delete(provider);
      this.#checkLater(provider);
    }
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    if (!request || !isProbe(request)) return;
    if (!after) this.#gone(request);
    else if (this.#requests.isOwn(after)) this.#seen(after, request.provider);
  }

  #seen(request: RequestRecord, provider: string): void {
    const isRefused = request.state === 'failed' || (request.state === 'requested' && request.declinedBy.length > 0);
    if (request.state === 'requested' && !isRefused) this.#waiting.set(provider, request);
    else if (this.#waiting.get(provider)?.id === request.id) this.#waiting.delete(provider);
    if (isRefused || request.state === 'fulfilled') this.#end(request);
  }

  /** It has been removed, or went with the session that is over. */
  #gone({ id, provider }: Pick<RequestRecord, 'id'> & { readonly provider: string }): void {
    const wasWaiting = this.#waiting.get(provider)?.id === id;
    if (wasWaiting) this.#waiting.delete(provider);
    if (this.#ending.delete(id) || wasWaiting) this.#checkLater(provider);
  }

  #end(request: RequestRecord): void {
    if (this.#ending.has(request.id)) return;
    this.#ending.add(request.id);
    void (request.state === 'fulfilled' ? this.#requests.handOver(request) : this.#requests.remove(request));
  }

  #checkLater(provider: string): void {
    this.#timers.get(provider)?.();
    const cancel = this.#services.clock.setTimer(AGAIN_MS, () => {
      this.#timers.delete(provider);
      this.check(provider);
    });
    this.#timers.set(provider, cancel);
  }
}
