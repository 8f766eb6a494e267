import { isZooKeeperError, type CancelTimer, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { isProbe } from '../plan/health-rules.js';
import type { PoolViews } from '../view/pool-views.js';
import type { MinReady } from './standby.js';
import { StandbyRequests } from './standby-requests.js';

/** Pause after a probe that was not launched, e.g. for lack of quota; the result of a launched one sets the next time. */
const AGAIN_MS = 30_000;
/** A probe that is under way for longer is withdrawn when the next one is due. */
const HANGS_MS = 120_000;

type Probe = RequestRecord & { readonly provider: string };

/**
 * Probes providers that fail or are slow with nodes that no request waits for: at most one at a time for each provider and
 * label, over all launchers. A node that `min-ready` does not lack is deleted again.
 */
export class StandbyProbes {
  readonly #context: Context;
  readonly #views: PoolViews;
  readonly #minReady: MinReady;
  readonly #requests: StandbyRequests;
  /** Probes of all launchers, by provider. */
  readonly #open = new Map<string, Map<RequestId, Probe>>();
  /** Probes that the mirror does not show yet, by provider, and until when it is waited for. */
  readonly #asking = new Map<string, { readonly id?: RequestId; readonly untilMs: number }>();
  readonly #timers = new Map<string, CancelTimer>();
  /** Requests whose end is being written. */
  readonly #ending = new Set<RequestId>();
  readonly #unsubscribe: readonly (() => void)[];

  /** @param minReady - may keep a node that a probe made */
  constructor(context: Context, views: PoolViews, minReady: MinReady) {
    this.#context = context;
    this.#views = views;
    this.#minReady = minReady;
    this.#requests = new StandbyRequests(context);
    const { events, mirror } = context;
    this.#unsubscribe = [
      mirror.listen({ onRequest: ({ before, after }) => this.#requestChanged(before, after) }),
      events.on('healthChanged', ({ provider }) => this.#checkSoon(provider)),
      events.on('probeSettled', ({ provider }) => this.#checkSoon(provider)),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#requests.stop();
    for (const cancel of this.#timers.values()) cancel();
  }

  /** The provider fails, is well again, or it is time for a probe. */
  check(provider: string): void {
    const asking = this.#asking.get(provider);
    if (!this.#context.life.isServing || (asking && asking.untilMs > this.#context.clock.now())) return;
    const labels = this.#views.labelsToProbe(provider);
    const open = [...(this.#open.get(provider)?.values() ?? [])];
    const own = open.filter((probe) => this.#requests.isOwn(probe));
    for (const probe of own) {
      if (probe.state === 'requested' && !labels.some((label) => probe.labels.includes(label))) this.#end(probe);
    }
    const label = labels.find((each) => !open.some((probe) => probe.labels.includes(each)));
    if (label !== undefined) void this.#ask(provider, label);
    else for (const probe of own) if (labels.some((each) => probe.labels.includes(each))) this.#endHanging(probe);
  }

  /** Pools come first: a request that waits for the provider may be the probe. */
  #checkSoon(provider: string): void {
    queueMicrotask(() => this.check(provider));
  }

  async #ask(provider: string, label: string): Promise<void> {
    const { logger, clock } = this.#context;
    this.#asking.set(provider, { untilMs: Infinity });
    try {
      const id = await this.#requests.ask(label, provider);
      logger.info('Asked for a node to probe a provider', { requestId: id, label, provider });
      if (this.#open.get(provider)?.has(id)) this.#asking.delete(provider);
      else this.#asking.set(provider, { id, untilMs: clock.now() + AGAIN_MS });
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.warn('Could not ask for a node to probe a provider', { label, provider, error });
      this.#asking.delete(provider);
      this.#checkLater(provider, AGAIN_MS);
    }
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    if (!request || !isProbe(request)) return;
    const { id, provider } = request;
    if (this.#asking.get(provider)?.id === id) this.#asking.delete(provider);
    const open = this.#open.get(provider) ?? new Map<RequestId, Probe>();
    if (after) {
      this.#open.set(provider, open.set(id, request));
      for (const probe of open.values()) if (this.#requests.isOwn(probe)) this.#seen(probe);
    } else {
      open.delete(id);
      // one that hung was replaced when the next was due, others ended without one being due
      const wasReplaced = this.#ending.delete(id) && request.state === 'pending';
      this.#checkLater(provider, wasReplaced ? 0 : AGAIN_MS);
    }
  }

  #seen(probe: Probe): void {
    const isRefused = probe.state === 'failed' || (probe.state === 'requested' && probe.declinedBy.length > 0);
    const isDuplicate = probe.state === 'requested' && this.#hasOlder(probe);
    if (isRefused || isDuplicate || probe.state === 'fulfilled') this.#end(probe);
  }

  /** Two launchers asked at the same moment. */
  #hasOlder({ id, provider, labels }: Probe): boolean {
    const open = [...(this.#open.get(provider)?.values() ?? [])];
    return open.some((other) => other.id < id && other.labels[0] === labels[0]);
  }

  /** The next probe is due, as this one takes longer than launches that go well. */
  #endHanging(probe: Probe): void {
    if (probe.state !== 'pending') return;
    const restMs = probe.stateTimeMs + HANGS_MS - this.#context.clock.now();
    if (restMs > 0) this.#checkLater(probe.provider, restMs);
    else this.#end(probe);
  }

  #end(probe: Probe): void {
    if (this.#ending.has(probe.id)) return;
    this.#ending.add(probe.id);
    void this.#writeEnd(probe).then((isOver) => {
      if (isOver) return;
      this.#ending.delete(probe.id);
      const now = this.#open.get(probe.provider)?.get(probe.id);
      if (now) this.#seen(now);
    });
  }

  /** @returns false when the request has changed meanwhile */
  async #writeEnd(probe: Probe): Promise<boolean> {
    if (probe.state !== 'fulfilled') return this.#requests.removeUnchanged(probe);
    const [label] = probe.labels;
    const isMissing = label !== undefined && this.#minReady.isMissing(label);
    await this.#requests.handOver(probe, isMissing ? 'free' : 'deleting');
    return true;
  }

  #checkLater(provider: string, pauseMs: number): void {
    this.#timers.get(provider)?.();
    const cancel = this.#context.clock.setTimer(pauseMs, () => {
      this.#timers.delete(provider);
      this.check(provider);
    });
    this.#timers.set(provider, cancel);
  }
}
