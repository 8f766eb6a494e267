import type { CancelTimer } from '@nodepool/zk-protocol';
import type { Context } from './state/context.js';
import type { Leftovers } from './nodes/leftovers.js';
import type { Reaper } from './nodes/reaper.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { LostRequests } from './requests/lost-requests.js';
import type { MinReady } from './nodes/standby.js';

/** Time between the sweeps. */
const SWEEP_MS = 60_000;

/** The parts of a launcher that a sweep looks through. */
export interface SweptParts {
  readonly context: Context;
  readonly providers: ProviderSet;
  readonly reaper: Reaper;
  readonly minReady: MinReady;
  readonly pools: PoolSet;
  readonly lost: LostRequests;
  readonly leftovers: Leftovers;
}

/** A periodic sweep over everything, in case a watch event was missed, and for what no event tells. */
export class Sweeps {
  readonly #parts: SweptParts;
  #cancel: CancelTimer | undefined;

  constructor(parts: SweptParts) {
    this.#parts = parts;
  }

  /** Sweeps from now on, until the launcher drains or stops. */
  schedule(): void {
    const { context } = this.#parts;
    const { life } = context;
    this.#cancel = context.clock.setTimer(SWEEP_MS, () => {
      void this.#sweep().finally(() => {
        if (!life.signal.aborted && !life.isDraining) this.schedule();
      });
    });
  }

  stop(): void {
    this.#cancel?.();
  }

  async #sweep(): Promise<void> {
    const { context, providers, reaper, minReady, pools, lost, leftovers } = this.#parts;
    const { logger, metrics, life } = context;
    if (!life.isActive) return;
    providers.sweep();
    const deletions = reaper.sweep();
    const standby = minReady.sweep();
    const woken = pools.sweep();
    metrics?.sweepFound('waiting-request', woken);
    metrics?.sweepFound('deletion', deletions);
    metrics?.sweepFound('standby-node', standby);
    void providers.cleanupLeakedResources(); // not awaited: a cloud that hangs must not delay the next sweep
    const tasks = [lost.checkAll().then((found) => metrics?.sweepFound('lost-request', found)), leftovers.sweep()];
    for (const result of await Promise.allSettled(tasks)) {
      if (result.status === 'rejected') logger.warn('A periodic clean-up failed', { error: result.reason as unknown });
    }
  }
}
