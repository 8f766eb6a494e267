import { delay, requestPath, steadyNow } from '@nodepool/zk-protocol';
import type { NodeId, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { CapacityError, LaunchError } from '@nodepool/core';
import type { FoundCondition } from '@nodepool/core';
import { deleteRequest } from './backing-request-index.js';
import type { BackingRequestsOptions } from './backing-requests.js';
import { settingsOf } from './config.js';
import { takeOver } from './take-over.js';

const RETRY_MS = 1_000;
/** Age at which a refusal is no longer reported, as there was no newer request for the label. */
const REFUSAL_LIFE_MS = 600_000;

/** Dependencies of {@link BackingRequestOutcomes}. */
export interface OutcomeParts extends BackingRequestsOptions {
  /** Fires when the provider has stopped. */
  readonly signal: AbortSignal;
}

/** Handles ended backing requests: takes over the node, or fails the waiting launches. */
export class BackingRequestOutcomes {
  readonly #parts: OutcomeParts;
  readonly #taking = new Map<RequestId, Promise<void>>();
  /** Backing nodes that this launcher took over. */
  readonly #taken = new Set<NodeId>();
  /** Last refusal of each backing label. */
  readonly #refused = new Map<
    string,
    { readonly why: string; readonly sinceMs: number; readonly lastSeenMs: number; readonly steadyMs: number }
  >();

  constructor(parts: OutcomeParts) {
    this.#parts = parts;
  }

  /** Labels whose last backing request was refused by all providers. */
  conditions(): FoundCondition[] {
    const { config, context } = this.#parts;
    const now = steadyNow(context.clock);
    const all = [...config.pools.values()].flatMap((pool) =>
      [...pool.labels.values()].map((label) => ({ pool, label })),
    );
    return all.flatMap(({ pool, label: { name: label, backingLabel } }): FoundCondition[] => {
      const refusal = this.#refused.get(backingLabel);
      if (!refusal || now - refusal.steadyMs > REFUSAL_LIFE_MS) return [];
      const { why, sinceMs, lastSeenMs } = refusal;
      return [
        {
          ...{ kind: 'label', name: `${config.name}/${pool.name}/${label}`, severity: 'error', sinceMs, lastSeenMs },
          ...{ type: 'LabelUnusable', reason: 'BackingLabelRefused', message: why },
          nextStep: `nodepool explain --label ${backingLabel}`,
          evidence: { provider: config.name, pool: pool.name, label, backingLabel },
        },
      ];
    });
  }

  /** Whether this launcher took the backing node over. */
  hasTaken(id: NodeId): boolean {
    return this.#taken.has(id);
  }

  /** Forgets a deleted backing node. */
  forget(id: NodeId): void {
    this.#taken.delete(id);
  }

  /** Resolves when no take-over is pending. */
  async settled(): Promise<void> {
    await Promise.all(this.#taking.values());
  }

  /** Takes over the node of the request, with retries until this or another launcher has succeeded. */
  fulfilled(request: RequestRecord, label: string): void {
    this.#refused.delete(request.labels[0] ?? '');
    if (this.#taking.has(request.id)) return;
    const run = this.#tryTakeOver(request, label).finally(() => this.#taking.delete(request.id));
    this.#taking.set(request.id, run);
  }

  /** No provider can serve the request: fails the launches that depend on it. */
  async failed(request: RequestRecord, label: string): Promise<void> {
    const { allocator, config, context, requests, slots } = this.#parts;
    const { logger } = context;
    const settings = settingsOf(config, label);
    const backingLabel = request.labels[0] ?? '';
    logger.warn('Backing request failed', { requestId: request.id, label, backingLabel });
    const waiting = allocator.waitingFor(label);
    const coming = requests.expected(label) * (settings?.maxParallelJobs ?? 1) + slots.label(label).supply;
    const why = request.launchError === null ? '' : `: ${request.launchError}`;
    const message = `request ${request.id} for backing label "${backingLabel}" was declined by all providers${why}`;
    this.#noteRefusal(backingLabel, message);
    for (const claim of waiting.slice(Math.min(coming, Math.max(0, waiting.length - 1)))) {
      claim.failed(new LaunchError('status', message));
    }
    await this.#remove(request);
  }

  /** Removes a failed request, which nothing looks at again; that of a former session is gone with it. */
  async #remove(request: RequestRecord): Promise<void> {
    const { context, requests, signal } = this.#parts;
    const { clock, logger } = context;
    while (!signal.aborted && requests.isOwn(request)) {
      try {
        await deleteRequest(context, requestPath(request.id));
        return;
      } catch (error) {
        logger.warn('Deleting a failed backing request failed; retrying', { requestId: request.id, error });
      }
      await delay(clock, RETRY_MS, signal).catch(() => undefined); // the loop checks the signal
    }
  }

  /** A deleted request fails its own launches that wait for a slot. */
  gone(id: RequestId): void {
    for (const claim of [...this.#parts.allocator.waitingOf(id)]) {
      claim.failed(new CapacityError(`request ${id} was withdrawn before a slot was free`));
    }
  }

  #noteRefusal(backingLabel: string, why: string): void {
    const { clock } = this.#parts.context;
    const nowMs = clock.now();
    const sinceMs = this.#refused.get(backingLabel)?.sinceMs ?? nowMs;
    this.#refused.set(backingLabel, { why, sinceMs, lastSeenMs: nowMs, steadyMs: steadyNow(clock) });
  }

  async #tryTakeOver(first: RequestRecord, label: string): Promise<void> {
    const { context, requests, signal } = this.#parts;
    const { logger, clock } = context;
    let request: RequestRecord | undefined = first;
    while (request?.state === 'fulfilled' && !signal.aborted && requests.isOwn(request)) {
      try {
        await this.#takeOverOnce(request, label);
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('Taking over a backing node failed; retrying', { requestId: request.id, label, error });
      }
      await delay(clock, RETRY_MS, signal).catch(() => undefined); // the loop checks the signal
      request = context.requests.get(first.id);
    }
  }

  async #takeOverOnce(request: RequestRecord, label: string): Promise<void> {
    const { config, context, owner, signal } = this.#parts;
    const fields = { requestId: request.id, nodeId: request.nodeIds[0], label };
    const slots = settingsOf(config, label)?.maxParallelJobs ?? 1;
    const [node] = request.nodeIds;
    if (node !== undefined) this.#taken.add(node);
    const isTaken = await takeOver(context, { request, owner, label, slots }, signal);
    if (!isTaken && node !== undefined) this.#taken.delete(node);
    if (isTaken) context.logger.info('Took over backing node', { ...fields, slots });
    else context.logger.warn('Another launcher took over the node of a backing request', fields);
  }
}
