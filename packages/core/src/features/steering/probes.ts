import {
  isZooKeeperError,
  type CancelTimer,
  type RequestId,
  type RequestRecord,
  steadyNow,
} from '@nodepool/zk-protocol';
import type { Engine, FreeNodes } from '../../launcher/nodes/feature.js';
import {
  isOwnRequest,
  releaseOwnRequest,
  removeOwnRequest,
  requestNode,
} from '../../launcher/requests/own-requests.js';
import { isProbe } from '../../launcher/plan/health-rules.js';
import type { Context } from '../../launcher/state/context.js';
import { sinceWrittenMs } from '../../launcher/state/server-clock.js';

/** Pause after a probe that was not launched, e.g. for lack of quota; the result of a launched one sets the next time. */
const AGAIN_MS = 30_000;
/** A probe that takes longer is withdrawn when the next one is due. */
const HANGS_MS = 120_000;

type ProbingEngine = Pick<Engine, 'context' | 'views' | 'serverClock'> & {
  /** It may need a node that a probe made. */
  readonly freeNodes: Pick<FreeNodes, 'isMissing'> | undefined;
};

type Probe = RequestRecord & { readonly provider: string };

/**
 * Probes failing and slow providers with nodes that no request waits for: at most one at a time for each provider and label,
 * over all launchers. Deletes the node again unless `min-ready` lacks it.
 */
export class Probes {
  readonly #engine: ProbingEngine;
  readonly #context: Context;
  /** Probes of all launchers, by provider. */
  readonly #open = new Map<string, Map<RequestId, Probe>>();
  /** By provider, a probe that the mirror does not show yet, and how long to wait for it. */
  readonly #asking = new Map<string, { readonly id?: RequestId; readonly untilMs: number }>();
  readonly #timers = new Map<string, CancelTimer>();
  /** Probes that are being removed. */
  readonly #ending = new Set<RequestId>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(engine: ProbingEngine) {
    this.#engine = engine;
    this.#context = engine.context;
    const { events } = this.#context;
    this.#unsubscribe = [
      events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after)),
      events.on('healthChanged', ({ provider }) => this.checkSoon(provider)),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const cancel of this.#timers.values()) cancel();
  }

  /** Providers may need no probe any more since the last look, which a lost connection may have prevented. */
  reconsider(): void {
    for (const provider of this.#open.keys()) this.check(provider);
  }

  /** Requests a probe of the provider if one is due, and removes probes that are not needed or hang. */
  check(provider: string): void {
    const asking = this.#asking.get(provider);
    if (!this.#context.life.isServing || (asking && asking.untilMs > steadyNow(this.#context.clock))) return;
    const labels = this.#engine.views.labelsToProbe(provider);
    const open = [...(this.#open.get(provider)?.values() ?? [])];
    const own = open.filter((probe) => isOwnRequest(this.#context, probe));
    for (const probe of own) {
      if (probe.state === 'requested' && !labels.some((label) => probe.labels.includes(label))) this.#end(probe);
    }
    const label = labels.find((each) => !open.some((probe) => probe.labels.includes(each)));
    if (label !== undefined) void this.#ask(provider, label);
    else for (const probe of own) if (labels.some((each) => probe.labels.includes(each))) this.#endHanging(probe);
  }

  /** Checks after the pools have reacted: a request that waits for the provider may be the probe. */
  checkSoon(provider: string): void {
    queueMicrotask(() => this.check(provider));
  }

  async #ask(provider: string, label: string): Promise<void> {
    const { logger, clock } = this.#context;
    this.#asking.set(provider, { untilMs: Infinity });
    try {
      const id = await requestNode(this.#context, label, provider);
      logger.info('Asked for a node to probe a provider', { requestId: id, label, provider });
      if (this.#open.get(provider)?.has(id)) this.#asked(provider);
      else this.#asking.set(provider, { id, untilMs: steadyNow(clock) + AGAIN_MS });
    } catch (error) {
      const level = isZooKeeperError(error) ? 'warn' : 'error';
      logger[level]('Could not ask for a node to probe a provider', { label, provider, error });
      this.#asking.delete(provider);
      this.#checkLater(provider, AGAIN_MS);
    }
  }

  /** It may be needed no more: nothing was checked while it was being asked for. */
  #asked(provider: string): void {
    this.#asking.delete(provider);
    this.checkSoon(provider);
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    if (!request || !isProbe(request)) return;
    const { id, provider } = request;
    if (this.#asking.get(provider)?.id === id) this.#asked(provider);
    const open = this.#open.get(provider) ?? new Map<RequestId, Probe>();
    if (after) {
      this.#open.set(provider, open.set(id, request));
      for (const probe of open.values()) if (isOwnRequest(this.#context, probe)) this.#seen(probe);
    } else {
      open.delete(id);
      // a hanging probe is removed because the next one is due; after any other end none is
      const wasReplaced = this.#ending.delete(id) && request.state === 'pending';
      this.#checkLater(provider, wasReplaced ? 0 : AGAIN_MS);
    }
  }

  #seen(probe: Probe): void {
    const isRefused = probe.state === 'failed' || (probe.state === 'requested' && probe.declinedBy.length > 0);
    const isDuplicate = probe.state === 'requested' && this.#hasOlder(probe);
    if (isRefused || isDuplicate || probe.state === 'fulfilled') this.#end(probe);
  }

  /** Whether another launcher requested a probe at the same moment. */
  #hasOlder({ id, provider, labels }: Probe): boolean {
    const open = [...(this.#open.get(provider)?.values() ?? [])];
    return open.some((other) => other.id < id && other.labels[0] === labels[0]);
  }

  /** The next probe is due, as this one takes longer than a usual launch. */
  #endHanging(probe: Probe): void {
    if (probe.state !== 'pending') return;
    const restMs = HANGS_MS - sinceWrittenMs(probe, this.#engine.serverClock);
    if (restMs > 0) this.#checkLater(probe.provider, restMs);
    else this.#end(probe);
  }

  #end(probe: Probe): void {
    if (this.#ending.has(probe.id)) return;
    this.#ending.add(probe.id);
    void this.#writeEnd(probe).then(
      (isOver) => {
        if (isOver) return;
        this.#ending.delete(probe.id);
        const now = this.#open.get(probe.provider)?.get(probe.id);
        if (now) this.#seen(now);
      },
      (error: unknown) => {
        this.#context.logger.error('Could not end a probe', { requestId: probe.id, provider: probe.provider, error });
        this.#ending.delete(probe.id);
      },
    );
  }

  /** @returns false if the request has changed meanwhile */
  async #writeEnd(probe: Probe): Promise<boolean> {
    if (probe.state !== 'fulfilled') return removeOwnRequest(this.#context, probe, probe.stat?.version);
    const [label] = probe.labels;
    const isMissing = label !== undefined && this.#engine.freeNodes?.isMissing(label);
    await releaseOwnRequest(this.#context, probe, isMissing ? 'free' : 'deleting');
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
