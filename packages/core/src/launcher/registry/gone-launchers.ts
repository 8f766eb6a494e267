import { steadyNow, withComponent, type ComponentCache, type ComponentRecord } from '@nodepool/zk-protocol';
import { serviceName } from '../../conditions/service-name.js';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { Context } from '../state/context.js';
import type { Registration } from './registration.js';

/** Conditions of other launchers. */
export const CONDITIONS = {
  LauncherGone: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning:
      'a launcher left the registry without a stop, as another launcher saw; ends when it returns (same host and web address), or after an hour',
    reasons: { NotStopped: 'it was killed, it hangs, its machine is gone, or it does not reach ZooKeeper' },
    nextStep:
      'continue or end a process that hangs, as it keeps its port; start one that is gone, and look at the end of its log',
  },
} as const satisfies ConditionTypes;

/** How long a lost launcher is shown. */
const REMEMBERED_MS = 3_600_000;
/** A launcher whose session has ended registers again in this time, if it runs. */
const PATIENCE_MS = 10_000;
/** Lost launchers that are kept; the oldest is dropped. Launchers may get a new host name with each start. */
const MOST_KEPT = 100;

interface GoneLauncher {
  readonly record: ComponentRecord;
  /** Steady time of the loss. */
  readonly atMs: number;
  /** Wall-clock time of the loss. */
  readonly sinceMs: number;
}

/**
 * Remembers for an hour which launchers left the registry without a stop, as far as this launcher has seen it. A stop is announced in the
 * entry. Launchers of the original announce none and have no `web_url`, so they do not count.
 */
export class GoneLaunchers {
  readonly #context: Pick<Context, 'clock'>;
  readonly #components: ComponentCache;
  readonly #unsubscribe: () => void;
  #gone: readonly GoneLauncher[] = [];

  constructor(context: Pick<Context, 'clock'>, components: ComponentCache) {
    this.#context = context;
    this.#components = components;
    this.#unsubscribe = components.onChange(({ before, after }) => {
      if (before && !after && before.state === 'running' && isOurs(before)) this.#lost(before);
    });
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** One for each launcher that left without a stop and has not returned. */
  conditions(): FoundCondition[] {
    const now = steadyNow(this.#context.clock);
    const present = [...this.#components.values()].filter(isOurs);
    const isBack = ({ record }: GoneLauncher) => present.some((other) => isSame(other, record));
    this.#gone = this.#gone.filter((gone) => now - gone.atMs < REMEMBERED_MS && !isBack(gone));
    const late = this.#gone.filter(({ atMs }) => now - atMs >= PATIENCE_MS);
    return late.map(goneCondition);
  }

  #lost(record: ComponentRecord): void {
    const { clock } = this.#context;
    const others = this.#gone.filter((gone) => !isSame(gone.record, record));
    this.#gone = [...others, { record, atMs: steadyNow(clock), sinceMs: clock.now() }].slice(-MOST_KEPT);
  }
}

/** Announces the stop of a launcher: from now on it is not lost when its entry is gone. */
export function announceStop(registration: Pick<Registration<ComponentRecord>, 'body' | 'update'>): void {
  registration.update(withComponent(registration.body, { state: 'stopped' }));
}

function isOurs({ kind, webUrl }: ComponentRecord): boolean {
  return kind === 'launcher' && typeof webUrl === 'string';
}

function isSame(a: ComponentRecord, b: ComponentRecord): boolean {
  return a.hostname === b.hostname && a.webUrl === b.webUrl;
}

function goneCondition({ record, sinceMs }: GoneLauncher): FoundCondition {
  const { hostname, webUrl } = record;
  const name = serviceName(record);
  return newCondition(CONDITIONS, 'LauncherGone', {
    ...{ name, reason: 'NotStopped', sinceMs, lastSeenMs: sinceMs, evidence: { url: webUrl ?? null } },
    message: `launcher ${name} left the registry without a stop: it was killed, it hangs, its machine is gone, or it does not reach ZooKeeper`,
    nextStep:
      `on ${hostname}: if its process is still there (systemctl status nodepool-launcher, or ps), it hangs and keeps its port: continue it with ` +
      `kill -CONT PID or end it with kill -KILL PID; if it is gone, start the launcher, and look at the end of its log; without it this ends after an hour`,
  });
}
