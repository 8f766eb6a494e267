import { reasonOfError } from '../../conditions/error-reason.js';
import type { LabelHealth } from '../../launcher/plan/steering.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';

/** So long after the first of several failures they are no accident, although they are few: each attempt takes its time. */
const LONG_MS = 20_000;
/** A label that nothing launches for this time is not doubted any more. */
const FORGOTTEN_AFTER_MS = 600_000;

/** What is remembered of one label. */
interface Known {
  /** When a launch was last ready. */
  readyMs?: number;
  /** When one last failed because of the cloud. */
  failedMs?: number;
  /** Attempts that failed since one was ready, with the times of the first and the last, and the error of the last. */
  failures?: { readonly count: number; readonly firstMs: number; readonly lastMs: number; readonly error: Error };
  /** The label has failed since one was ready, and another label has worked meanwhile. */
  failsAlone?: boolean;
}

/** What launches have shown of the labels of one provider: whether one fails alone, and which of them is best for a probe. */
export class LabelRecord {
  readonly #known = new Map<string, Known>();

  /** A launch of the label is ready. */
  succeeded(label: string, nowMs: number): void {
    for (const [other, known] of this.#known)
      if (other !== label && known.failsAlone === false) known.failsAlone = true;
    this.#known.set(label, { readyMs: nowMs });
  }

  /** A launch has failed because of the cloud. @returns whether that counts for the label only, as another one has worked meanwhile */
  failed(label: string, error: Error, nowMs: number): boolean {
    this.refused(label, error, nowMs);
    const known = this.#known.get(label) ?? {};
    const failsAlone = known.failsAlone ?? false;
    this.#known.set(label, { ...known, failedMs: nowMs, failsAlone });
    return failsAlone;
  }

  /** A launch was refused for lack of quota, which tells nothing of the cloud. */
  refused(label: string, error: Error, nowMs: number): void {
    const known = this.#known.get(label) ?? {};
    const { count = 0, firstMs = nowMs } = known.failures ?? {};
    this.#known.set(label, { ...known, failures: { count: count + 1, firstMs, lastMs: nowMs, error } });
  }

  /** Whether no launch of the label has been ready. */
  isNeverReady(label: string): boolean {
    return this.#known.get(label)?.readyMs === undefined;
  }

  /**
   * Labels of which several attempts in a row have failed, of late and not all at one moment, whatever other labels do meanwhile. Steering
   * waits for more of them. Several refusals for lack of quota at one moment may be of a pool that is full.
   */
  doubted(nowMs: number): LabelHealth[] {
    return [...this.#known].flatMap(([label, { failures }]) => {
      if (!failures || nowMs - failures.lastMs >= FORGOTTEN_AFTER_MS) return [];
      const { count, firstMs, lastMs, error } = failures;
      const reason = reasonOfError(error);
      const isLong = count > 1 && lastMs - firstMs >= LONG_MS;
      const isMany = count >= DEFAULT_HEALTH_LIMITS.failuresToOpen;
      if (reason === 'Quota' ? !(isLong && isMany) : !(isLong || isMany)) return [];
      const { message } = error;
      const times = { failedMs: lastMs, sinceMs: firstMs, nextProbeMs: undefined };
      const last = { failures: count, error: message, reason };
      return [{ label, health: { state: 'healthy', ...last, ...times } }];
    });
  }

  /** Labels by how much their launch would tell: those that failed last come last, those that worked last come first. */
  readonly compare = (a: string, b: string): number =>
    compareTimes(this.#known.get(a)?.failedMs, this.#known.get(b)?.failedMs) ||
    compareTimes(this.#known.get(b)?.readyMs, this.#known.get(a)?.readyMs);
}

/** Orders times, the earliest first; `undefined` is before all. */
function compareTimes(a = -1, b = -1): number {
  return a - b;
}
