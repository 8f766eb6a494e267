import type { CancelTimer, Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { FoundCondition } from '@nodepool/core';
import { replacedFile, type ConfigProblem } from '@nodepool/core/config';
import {
  ConditionList,
  mergeConditions,
  newCondition,
  SHARED_CONDITIONS,
  type Condition,
  type ConditionChange,
  type ConditionSource,
  type ConditionTypes,
  type LogFailure,
  type SharedCondition,
} from '@nodepool/core/service';
import type { Reloader } from './reloader.js';

/** Conditions that every service may have. */
export const CONDITIONS = {
  ConfigurationNotLoaded: {
    ...{ kind: 'configuration', severity: 'error' },
    meaning: 'a changed configuration is not loaded; the previous one stays in force',
    reasons: {
      Invalid: 'the file has errors; the message names their positions',
      Replaced:
        'a container has the file by a bind mount, and it was replaced on the host: it still sees the former file',
    },
    nextStep: 'nodepool -c FILE config-validate; correct the file',
  },
  RestartNeeded: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning: 'the file has changed settings that take effect at the next start',
    reasons: { SettingChanged: 'the message names the settings' },
    nextStep: 'restart the service, or revert the change',
  },
  LogNotWritten: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the log of a service cannot be written; lines are kept up to 1 MiB, then the oldest are lost',
    reasons: { NoSpace: 'the disk is full', NotWritable: 'the file cannot be written' },
    nextStep: 'free space on the disk of the log, or correct its permissions; no restart is needed',
  },
} as const satisfies ConditionTypes;

/** Interval of checks for changes without an event. */
const CHECK_MS = 10_000;
/** Minimum interval of checks after events. */
const PAUSE_MS = 1_000;
/** The pause after a check is at least this many times its duration, so that checks take at most 2 % of the CPU. */
const PAUSE_FACTOR = 50;
/** How old `lastSeenMs` in the registry may be. */
const PUBLISH_MS = 60_000;

/** Options of {@link ServiceConditions}. */
export interface ServiceConditionsOptions {
  readonly source: ConditionSource;
  readonly reloader: Pick<Reloader, 'config' | 'status'>;
  readonly zk: Pick<ZooKeeper, 'state' | 'sessionId'>;
  readonly clock: Clock;
  readonly hostname: string;
  /** The ZooKeeper server is the embedded one. */
  readonly usesEmbedded: boolean;
  /** Log files that cannot be written now. Default: none. */
  readonly logFailures?: (() => readonly LogFailure[]) | undefined;
  /** `launcher` or `builder`, and the host: as other services name this one. */
  readonly service: string;
}

/** Conditions of this service. Checks them after events and every few seconds, and publishes them in the registry. */
export class ServiceConditions {
  /** Result of the last check. */
  readonly list = new ConditionList();
  readonly #options: ServiceConditionsOptions;
  readonly #listeners = new Set<(change: ConditionChange) => void>();
  #hasEnded = false;
  #cancelCheck: CancelTimer | undefined;
  #checkDueMs = Infinity;
  #checkedMs = -Infinity;
  #pauseMs = PAUSE_MS;
  #publishedMs = -Infinity;
  #unsubscribe: (() => void) | undefined;

  constructor(options: ServiceConditionsOptions) {
    this.#options = options;
  }

  /** Current conditions of this service. */
  get current(): readonly Condition[] {
    if (!this.#hasEnded && this.#options.clock.now() - this.#checkedMs >= this.#pauseMs) this.check();
    return this.list.all;
  }

  /** Conditions of all services, each once. */
  get merged(): SharedCondition[] {
    const { source, service } = this.#options;
    return mergeConditions([{ service, conditions: this.current }, ...source.ofOthers]);
  }

  /** Checks now and starts periodic checks. */
  start(): void {
    this.#unsubscribe = this.#options.source.onConcern(() => this.checkSoon());
    this.check();
  }

  stop(): void {
    this.#hasEnded = true;
    this.#unsubscribe?.();
    this.#cancelCheck?.();
    this.#listeners.clear();
  }

  /** Calls the listener when conditions begin or end. @returns unsubscribes */
  onChange(listener: (change: ConditionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Schedules a check after an event. */
  checkSoon(): void {
    this.#checkAt(Math.max(this.#options.clock.now(), this.#checkedMs + this.#pauseMs));
  }

  /** Computes all conditions from the current state of the parts. */
  check(): void {
    if (this.#hasEnded) return;
    const { source, clock, hostname } = this.#options;
    const nowMs = clock.now();
    this.#checkedMs = nowMs;
    const change = this.list.update([...this.#ownConditions(), ...source.find()], nowMs, hostname);
    this.#pauseMs = Math.max(PAUSE_MS, PAUSE_FACTOR * (clock.now() - nowMs));
    const isOld = this.list.all.length > 0 && nowMs - this.#publishedMs >= PUBLISH_MS;
    if (this.#unsubscribe && (change.hasChanged || isOld)) {
      this.#publishedMs = nowMs;
      source.publish(this.list.all);
    }
    if (change.began.length + change.ended.length > 0) for (const listener of this.#listeners) listener(change);
    this.#checkDueMs = Infinity;
    this.#checkAt(nowMs + Math.max(CHECK_MS, this.#pauseMs));
  }

  #checkAt(dueMs: number): void {
    if (dueMs >= this.#checkDueMs) return;
    const { clock } = this.#options;
    this.#checkDueMs = dueMs;
    this.#cancelCheck?.();
    this.#cancelCheck = clock.setTimer(Math.max(0, dueMs - clock.now()), () => this.check());
  }

  /** Conditions that every service may have. */
  #ownConditions(): FoundCondition[] {
    const { reloader, hostname } = this.#options;
    const { file } = reloader.config;
    const { publicError, restartNeeded } = reloader.status;
    const found: FoundCondition[] = [];
    if (publicError !== undefined) {
      const message = `${hostname} continues with its former configuration: ${publicError}`;
      const nextStep = `nodepool -c ${file} config-validate, on ${hostname}`;
      found.push(
        newCondition(CONDITIONS, 'ConfigurationNotLoaded', { name: file, reason: 'Invalid', message, nextStep }),
      );
    }
    const replaced = replacedFile(file);
    if (replaced !== undefined) {
      const message = `${hostname} continues with its former configuration: ${replaced}`;
      const nextStep = `mount the directory of ${file} instead of the file, or restart the container`;
      found.push(
        newCondition(CONDITIONS, 'ConfigurationNotLoaded', { name: file, reason: 'Replaced', message, nextStep }),
      );
    }
    if (restartNeeded.length > 0) {
      const message = `settings that take effect at the next start have changed: ${restartNeeded.join(', ')}`;
      const nextStep = `restart the service on ${hostname}, or take the change back`;
      found.push(
        newCondition(CONDITIONS, 'RestartNeeded', { name: file, reason: 'SettingChanged', message, nextStep }),
      );
    }
    return [...found, ...warnedOf(reloader.config, hostname), ...this.#connection(), ...this.#unwrittenLogs()];
  }

  #unwrittenLogs(): FoundCondition[] {
    const { logFailures, hostname: name } = this.#options;
    return (logFailures?.() ?? []).map(({ file, error }) => {
      const isFull = 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));
      return newCondition(CONDITIONS, 'LogNotWritten', {
        ...{ name, reason: isFull ? 'NoSpace' : 'NotWritable' },
        message: `lines cannot be written to ${file}, and the oldest are lost: ${error.message}`,
        nextStep: isFull ? `free space on the disk of ${file}` : `correct the permissions of ${file}`,
      });
    });
  }

  #connection(): FoundCondition[] {
    const { zk, hostname, usesEmbedded } = this.#options;
    // before the first session `notReady` reports it; an expired session has no id either
    if (zk.state === 'CONNECTED' || (zk.state === 'SUSPENDED' && zk.sessionId === 0n)) return [];
    const reason = zk.state === 'LOST' ? 'Lost' : 'Suspended';
    const message = 'the connection to ZooKeeper is gone; nothing is accepted until it is back';
    const nextStep = usesEmbedded
      ? 'look at the launcher and the disk of its state directory: the ZooKeeper server is embedded in it'
      : 'look at the ZooKeeper servers and the network between them and this service';
    return [newCondition(SHARED_CONDITIONS, 'NotConnected', { name: hostname, reason, message, nextStep })];
  }
}

/**
 * Locations of the warnings only: their messages quote values, which readers of the registry must not see. Providers that are
 * not served have conditions of their own.
 */
function warnedOf({ file, warnings: all, unserved }: Reloader['config'], hostname: string): FoundCondition[] {
  const ofUnserved = new Set([...(unserved?.values() ?? [])].map(({ problem }) => problem));
  const warnings = all.filter((problem) => !ofUnserved.has(problem));
  const [first] = warnings;
  if (!first) return [];
  const count = warnings.length === 1 ? '1 warning' : `${warnings.length} warnings, the first`;
  const message = `the configuration in force has ${count}: ${placeOf(first)}`;
  const nextStep = `nodepool -c ${file} config-validate, on ${hostname}`;
  return [
    newCondition(SHARED_CONDITIONS, 'ConfigurationProblem', { name: file, reason: 'Warnings', message, nextStep }),
  ];
}

function placeOf({ position, path }: ConfigProblem): string {
  const place = position && `${position.file}:${position.line}:${position.column}`;
  return [place, path].filter(Boolean).join(': ') || 'see the log';
}
