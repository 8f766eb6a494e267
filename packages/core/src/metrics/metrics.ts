import type { Clock } from '@nodepool/zk-protocol';
import type { ConditionList } from '../conditions/condition-list.js';
import type { Logger } from '../contract/logger.js';
import type { LaunchSubject } from '../contract/operation-metrics.js';
import type { Transition } from '../contract/state-machine.js';
import type { EndedWork } from '../contract/request-outcome.js';
import { BoundedNames } from './bounded-names.js';
import { BuilderMetrics, type BuilderEvents } from './builder-metrics.js';
import { Exposition, type Readers } from './exposition.js';
import { Follower } from './follower.js';
import { createReaders } from './readers.js';
import { Statsd, type StatsdTarget } from './statsd/statsd.js';
import type { LauncherMetrics, MetricsAttachment, ObservedLauncher, ProcessUsage } from './types.js';

/** Options of {@link Metrics}. */
export interface MetricsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Host name; metrics use the part before the first dot. */
  readonly hostname: string;
  readonly pid: number;
  /** Release of the program. */
  readonly version: string;
  /** Optional; without it nothing is sent. */
  readonly statsd?: StatsdTarget | undefined;
  /** Optional; without it the exposition has no process metrics. */
  readonly processUsage?: (() => ProcessUsage) | undefined;
}

const SLOW_CALL_MS = 1_000;
/** Clients choose the names in their requests. */
const MOST_REQUESTORS = 200;
const MOST_LABELS = 1_000;
const HTTP_STATUS = /^[1-5]\d\d$/;

/** Counts events of a launcher or builder for statsd and Prometheus. */
export class Metrics implements LauncherMetrics {
  /** Receives the events of a builder. */
  readonly builder: BuilderEvents;
  readonly #options: MetricsOptions;
  readonly #statsd: Statsd | undefined;
  readonly #readers: Readers;
  readonly #exposition: Exposition;
  readonly #requestors = new BoundedNames(MOST_REQUESTORS);
  readonly #labels = new BoundedNames(MOST_LABELS);
  #follower: Follower | undefined;
  #usage: ProcessUsage | undefined;
  #conditions: ConditionList | undefined;

  constructor(options: MetricsOptions) {
    const { clock, logger, statsd, version, hostname } = options;
    this.#options = options;
    this.#statsd = statsd && new Statsd(statsd, { clock, logger });
    const builder = new BuilderMetrics(clock, hostname, this.#statsd, () => this.#exposition);
    this.builder = builder;
    this.#readers = createReaders({
      follower: () => this.#follower,
      version,
      statsdDropped: () => this.#statsd?.dropped,
      usage: () => this.#usage,
      conditions: () => this.#conditions?.all ?? [],
    });
    this.#exposition = new Exposition({ ...this.#readers, ...builder.readers() });
  }

  /** `Content-Type` of {@link Metrics.render}. */
  get contentType(): string {
    return this.#exposition.contentType;
  }

  /** Everything in the text format of Prometheus. */
  render(): Promise<string> {
    this.#usage = this.#options.processUsage?.();
    return this.#exposition.render();
  }

  /** Sends the remaining lines. Later reports are lost. */
  async close(): Promise<void> {
    this.#follower?.stop();
    await this.#statsd?.close();
  }

  /** Exposes the conditions of a list, read on demand. */
  showConditions(list: ConditionList): void {
    this.#conditions = list;
  }

  attach(launcher: ObservedLauncher): MetricsAttachment {
    const { clock, logger, hostname, pid } = this.#options;
    const host = hostname.split('.', 1)[0] ?? hostname;
    this.#follower = new Follower(launcher, { clock, logger, host, pid, statsd: this.#statsd, readers: this.#readers });
    return this.#follower;
  }

  requestEnded({ outcome, request, provider, pool }: EndedWork): void {
    this.#exposition.count('requestsEnded', { provider, pool, outcome });
    if (outcome !== 'fulfilled') return;
    const createdMs = request.createdTimeMs ?? request.stat?.ctime;
    if (createdMs === undefined) return;
    // the clock of the requestor may be ahead
    const waitMs = Math.max(0, this.#options.clock.now() - createdMs);
    this.#exposition.observe('requestWait', { provider, pool }, waitMs);
  }

  requestWaited(cause: string, labels: readonly string[], ms: number): void {
    for (const label of new Set(labels.map((name) => this.#labels.shown(name)))) {
      this.#statsd?.report('requestWaitCause', { cause, label }, ms);
      this.#exposition.observe('requestWaitCause', { cause, label }, ms);
    }
  }

  nodeTooLong(provider: string, state: string): void {
    this.#statsd?.report('nodesTooLong', { provider, state });
    this.#exposition.count('nodesTooLong', { provider, state });
  }

  sweepFound(work: string, count: number): void {
    if (count > 0) this.#exposition.count('sweepFound', { work }, count);
  }

  launchEnded(result: string, ms: number, { provider, az, requestor, image }: LaunchSubject): void {
    const labels = { result, provider, az, requestor: this.#requestors.shown(requestor), image };
    this.#statsd?.report('launches', labels, ms);
    this.#exposition.count('launches', labels);
    this.#exposition.observe('launchDuration', { provider, result }, ms);
  }

  deleteEnded(ms: number, { provider }: { readonly provider: string }): void {
    this.#exposition.observe('deleteDuration', { provider }, ms);
  }

  leaked(provider: string, plural: string): void {
    this.#statsd?.report('leaked', { provider, type: plural });
    this.#exposition.count('leaked', { provider, type: plural });
  }

  apiCall(provider: string, call: string, ms: number, outcome: string, prefix?: string): void {
    this.#exposition.count('apiCalls', { provider, call, outcome });
    this.#exposition.observe('apiCallDuration', { provider, call }, ms);
    if (!this.#statsd) return;
    // with the default prefix, each call would be counted twice
    const labels = { provider, call, prefix: prefix === `nodepool.task.${provider}` ? null : (prefix ?? null) };
    this.#statsd.report('apiCalls', labels, ms);
    this.#statsd.report('apiCallAttempted', labels);
    if (HTTP_STATUS.test(outcome)) this.#statsd.report('apiCallStatus', { ...labels, status: outcome }, ms);
    else if (outcome !== 'ok') this.#statsd.report('apiCallFailed', labels);
    if (ms > SLOW_CALL_MS) this.#statsd.report('apiCallSlow', labels);
  }

  instanceListAge(provider: string, ageMs: number): void {
    this.#statsd?.gauge('instanceListAge', { provider }, ageMs);
    this.#exposition.observe('instanceListAge', { provider }, ageMs);
  }

  transition(provider: string, { machine, from, elapsedMs }: Transition): void {
    this.#exposition.observe('operationState', { provider, machine, state: from }, elapsedMs);
  }
}
