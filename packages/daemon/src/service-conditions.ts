import type { CancelTimer, Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { FoundCondition } from '@nodepool/core';
import type { ConfigProblem } from '@nodepool/core/config';
import { newCondition, type Condition } from '@nodepool/core/service';
import {
  ConditionList,
  mergeConditions,
  type ConditionChange,
  type ConditionSource,
  type SharedCondition,
} from '@nodepool/core/service';
import type { Reloader } from './reloader.js';

/** What no event tells of is found this late. */
const LOOK_MS = 10_000;
/** Events are followed by a look, at most so often. */
const PAUSE_MS = 1_000;
/** A look that took long is followed by a pause of so many times as long: looks take 2 % of the time at most. */
const PAUSE_FACTOR = 50;
/** How old `lastSeenMs` in the registry may be. */
const PUBLISH_MS = 60_000;

/** What the conditions of a service come from. */
export interface ServiceConditionsOptions {
  readonly source: ConditionSource;
  readonly reloader: Pick<Reloader, 'config' | 'status'>;
  readonly zk: Pick<ZooKeeper, 'state' | 'sessionId'>;
  readonly clock: Clock;
  readonly hostname: string;
  /** The ZooKeeper server is the embedded one. */
  readonly usesEmbedded: boolean;
  /** `launcher` or `builder`, and the host: as other services name this one. */
  readonly service: string;
}

/** The conditions of this service: looked for when something happened and every few seconds, and published in the registry. */
export class ServiceConditions {
  /** As the last look left it. */
  readonly list = new ConditionList();
  readonly #options: ServiceConditionsOptions;
  readonly #listeners = new Set<(change: ConditionChange) => void>();
  #isStopped = false;
  #cancelLook: CancelTimer | undefined;
  #lookDueMs = Infinity;
  #lookedMs = -Infinity;
  #pauseMs = PAUSE_MS;
  #publishedMs = -Infinity;
  #unsubscribe: (() => void) | undefined;

  constructor(options: ServiceConditionsOptions) {
    this.#options = options;
  }

  /** Those of this service now. */
  get current(): readonly Condition[] {
    if (!this.#isStopped && this.#options.clock.now() - this.#lookedMs >= this.#pauseMs) this.look();
    return this.list.all;
  }

  /** Those of all services, of which each is there once. */
  get merged(): SharedCondition[] {
    const { source, service } = this.#options;
    return mergeConditions([{ service, conditions: this.current }, ...source.ofOthers]);
  }

  /** Looks now, and from now on. */
  start(): void {
    this.#unsubscribe = this.#options.source.onConcern(() => this.lookSoon());
    this.look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unsubscribe?.();
    this.#cancelLook?.();
    this.#listeners.clear();
  }

  /** Tells of conditions that began or ended. @returns ends it */
  onChange(listener: (change: ConditionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Something happened that conditions may follow from. */
  lookSoon(): void {
    this.#lookAt(Math.max(this.#options.clock.now(), this.#lookedMs + this.#pauseMs));
  }

  /** Derives all conditions anew from the state of the parts. */
  look(): void {
    if (this.#isStopped) return;
    const { source, clock, hostname } = this.#options;
    const nowMs = clock.now();
    this.#lookedMs = nowMs;
    const change = this.list.update([...this.#ownConditions(), ...source.find()], nowMs, hostname);
    this.#pauseMs = Math.max(PAUSE_MS, PAUSE_FACTOR * (clock.now() - nowMs));
    const isOld = this.list.all.length > 0 && nowMs - this.#publishedMs >= PUBLISH_MS;
    if (this.#unsubscribe && (change.hasChanged || isOld)) {
      this.#publishedMs = nowMs;
      source.publish(this.list.all);
    }
    if (change.began.length + change.ended.length > 0) for (const listener of this.#listeners) listener(change);
    this.#lookDueMs = Infinity;
    this.#lookAt(nowMs + Math.max(LOOK_MS, this.#pauseMs));
  }

  #lookAt(dueMs: number): void {
    if (dueMs >= this.#lookDueMs) return;
    const { clock } = this.#options;
    this.#lookDueMs = dueMs;
    this.#cancelLook?.();
    this.#cancelLook = clock.setTimer(Math.max(0, dueMs - clock.now()), () => this.look());
  }

  /** What the service itself knows, whatever it does. */
  #ownConditions(): FoundCondition[] {
    const { reloader, hostname } = this.#options;
    const { file } = reloader.config;
    const { publicError, restartNeeded } = reloader.status;
    const found: FoundCondition[] = [];
    if (publicError !== undefined) {
      const message = `${hostname} continues with its former configuration: ${publicError}`;
      const nextStep = `nodepool -c ${file} config-validate, on ${hostname}`;
      found.push(newCondition('ConfigurationNotLoaded', { name: file, reason: 'Invalid', message, nextStep }));
    }
    if (restartNeeded.length > 0) {
      const message = `settings that take effect at the next start have changed: ${restartNeeded.join(', ')}`;
      const nextStep = `restart the service on ${hostname}, or take the change back`;
      found.push(newCondition('RestartNeeded', { name: file, reason: 'SettingChanged', message, nextStep }));
    }
    return [...found, ...warnedOf(reloader.config, hostname), ...this.#connection()];
  }

  #connection(): FoundCondition[] {
    const { zk, hostname, usesEmbedded } = this.#options;
    // Before the first session `notReady` says it. A session that is over has no id either.
    if (zk.state === 'CONNECTED' || (zk.state === 'SUSPENDED' && zk.sessionId === 0n)) return [];
    const reason = zk.state === 'LOST' ? 'Lost' : 'Suspended';
    const message = 'the connection to ZooKeeper is gone; nothing is accepted until it is back';
    const nextStep = usesEmbedded
      ? 'look at the launcher and the disk of its state directory: the ZooKeeper server is embedded in it'
      : 'look at the ZooKeeper servers and the network between them and this service';
    return [newCondition('NotConnected', { name: hostname, reason, message, nextStep })];
  }
}

/** Only where the warnings are: their messages quote values, and others read this. */
function warnedOf({ file, warnings }: Reloader['config'], hostname: string): FoundCondition[] {
  const [first] = warnings;
  if (!first) return [];
  const count = warnings.length === 1 ? '1 warning' : `${warnings.length} warnings, the first`;
  const message = `the configuration in force has ${count}: ${placeOf(first)}`;
  const nextStep = `nodepool -c ${file} config-validate, on ${hostname}`;
  return [newCondition('ConfigurationProblem', { name: file, reason: 'Warnings', message, nextStep })];
}

function placeOf({ position, path }: ConfigProblem): string {
  const place = position && `${position.file}:${position.line}:${position.column}`;
  return [place, path].filter(Boolean).join(': ') || 'see the log';
}
