import { backoffMs, type CancelTimer } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import type { FaultKind } from '../events.js';

const PAUSE = { firstMs: 1_000, longestMs: 60_000 };
/** A provider that ran for so long without a fault begins anew with short pauses. */
const FORGIVEN_AFTER_MS = 600_000;

/**
 * Faults of drivers that no call returned. The state of such a driver is not to be trusted: its provider, and it alone,
 * is restarted, with growing pauses.
 */
export class Restarts {
  readonly #context: Context;
  readonly #faults = new Map<string, { count: number; lastMs: number; cancel: CancelTimer | undefined }>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Notes a fault. @returns false when the provider is about to be restarted already */
  faulted(provider: string, driver: string, kind: FaultKind, error: unknown): boolean {
    const { clock, logger, random, events } = this.#context;
    const now = clock.now();
    const known = this.#faults.get(provider);
    if (known?.cancel) return false;
    const count = known && now - known.lastMs < FORGIVEN_AFTER_MS ? known.count : 0;
    const pauseMs = backoffMs(count, PAUSE, random);
    const fault = { count: count + 1, lastMs: now, cancel: undefined as CancelTimer | undefined };
    fault.cancel = clock.setTimer(pauseMs, () => {
      fault.cancel = undefined;
      events.emit('restartDue', { provider });
    });
    this.#faults.set(provider, fault);
    logger.error('A driver made an error that nothing catches; its provider is restarted', {
      ...{ provider, driver, kind, error, pauseMs: Math.round(pauseMs) },
      ...(error instanceof Error && { stack: error.stack }),
    });
    return true;
  }

  stop(): void {
    for (const { cancel } of this.#faults.values()) cancel?.();
    this.#faults.clear();
  }
}
