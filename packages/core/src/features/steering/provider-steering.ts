import { isStartable, type CancelTimer } from '@nodepool/zk-protocol';
import { failureKindOf, isLasting, isOfQuota, type FailureKind } from '../../launcher/plan/failure.js';
import type { SteeringReport, SteeringView } from '../../launcher/plan/steering.js';
import type { Context } from '../../launcher/state/context.js';
import type { Launch, LauncherEventMap } from '../../launcher/state/events.js';
import { logHealth } from './health-log.js';
import { DEFAULT_HEALTH_LIMITS, Health, type HealthLimits } from './health.js';
import { LabelRecord } from './label-record.js';
import type { Probes } from './probes.js';
import { Pace, type PaceContext } from './pace.js';
import { ZoneHealth } from './zone-health.js';

/** What steering needs of the launcher. */
export interface SteeringContext extends PaceContext, Pick<Context, 'events' | 'logger'> {
  /** Asked for another probe when a launch of a failing provider has ended or is late. Optional; omit to probe with requests only. */
  readonly probes?: Pick<Probes, 'checkSoon'>;
}

/**
 * The health of one provider as its launches show it, and of each of its labels, which stand for resource types. A lack of
 * capacity, and failures of a label while others work, count for the label only. Survives a reload.
 */
export class ProviderSteering implements SteeringView {
  readonly #name: string;
  readonly #context: SteeringContext;
  readonly #limits: HealthLimits;
  readonly #provider: Health;
  /** Health of API calls outside of launches. */
  readonly #api: Health;
  readonly #labels = new Map<string, Health>();
  readonly #record = new LabelRecord();
  readonly #zones: ZoneHealth;
  readonly #pace: Pace;
  #cancelProbe: CancelTimer | undefined;

  constructor(name: string, context: SteeringContext, limits: HealthLimits = DEFAULT_HEALTH_LIMITS) {
    this.#name = name;
    this.#context = context;
    this.#limits = limits;
    this.#provider = new Health(limits);
    this.#api = new Health(limits);
    this.#zones = new ZoneHealth(limits);
    this.#pace = new Pace(context, limits, (launch, isSlower) => this.#late(launch, isSlower));
  }

  get launchLimit(): number {
    return this.#pace.launchLimit;
  }

  avoidsZone(zone: string, label: string): boolean {
    return this.#zones.avoids(zone, label, this.#nowMs);
  }

  get isWell(): boolean {
    return this.#provider.isHealthy && this.#api.isHealthy;
  }

  get isSlow(): boolean {
    return this.#pace.isSlow;
  }

  isFailing(label: string): boolean {
    return !(this.#labels.get(label)?.isHealthy ?? true);
  }

  mayLaunch(labels: readonly string[]): boolean {
    const nowMs = this.#nowMs;
    const isDue = this.#provider.mayLaunch(nowMs) && this.#api.mayLaunch(nowMs);
    return isDue && labels.every((label) => this.#labels.get(label)?.mayLaunch(nowMs) ?? true);
  }

  isProbeDue(labels: readonly string[]): boolean {
    const isWell = this.isWell && this.#pace.isOver && !labels.some((label) => this.isFailing(label));
    return !isWell && !this.isSlow && this.mayLaunch(labels);
  }

  compareProbes(a: string, b: string): number {
    return this.#record.compare(a, b);
  }

  isProbed(label: string): boolean {
    for (const launch of this.#pace.inTime())
      if (launch.label === label || (!this.isWell && launch.isLastResort !== true)) return true;
    return false;
  }

  /** The time of the next probe; `undefined` if nothing fails or a probe is due already. */
  get nextProbeMs(): number | undefined {
    const reports = [this.#provider, this.#api, ...this.#labels.values()].map((health) => health.report(this.#nowMs));
    const times = [...reports, this.#pace.report()].flatMap(({ nextProbeMs }) => nextProbeMs ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  report(): SteeringReport {
    const nowMs = this.#nowMs;
    const labels = [...this.#labels].map(([label, health]) => {
      return { label, health: health.report(nowMs), neverReady: this.#record.isNeverReady(label) };
    });
    const isApi = this.#provider.isHealthy && !this.#api.isHealthy;
    return {
      provider: (isApi ? this.#api : this.#provider).report(nowMs),
      failing: isApi ? 'calls' : 'launches',
      speed: this.#pace.report(),
      labels: labels.filter(({ health }) => health.state !== 'healthy'),
      doubted: this.isWell ? this.#record.doubted(nowMs).filter(({ label }) => !this.isFailing(label)) : [],
      zones: this.#zones.reports(nowMs),
    };
  }

  apiAnswered(error: Error | undefined): void {
    if (error && failureKindOf(error) !== 'cloud') return;
    if (error ? this.#api.failed(error, this.#nowMs) : this.#api.succeeded()) this.#changed();
  }

  launchBegun(launch: Launch): void {
    if (launch.isLastResort !== true) for (const health of this.#healthsOf(launch)) health.launchBegun(launch);
    this.#pace.launchBegun(launch);
  }

  launchPlaced(launch: Launch, zone: string | null): void {
    if (zone !== null && this.#pace.has(launch)) this.#zones.launchPlaced(launch, zone);
  }

  instanceCreated(launch: Launch): void {
    if (this.#pace.has(launch)) this.#pace.instanceCreated(launch);
  }

  attemptFailed(launch: Launch, error: Error): void {
    if (!this.#pace.has(launch)) return;
    const kind = failureKindOf(error);
    const failing = this.#failingBy(kind, launch, error);
    for (const health of this.#healthsOf(launch)) if (health !== failing) health.launchEnded(launch);
    this.#pace.attemptFailed(launch);
    if (kind === 'capacity') this.#zones.attemptFailed(launch, error, this.#nowMs);
    if (failing?.failed(error, this.#nowMs)) this.#changed();
  }

  /** What a failure of this kind counts for. */
  #failingBy(kind: FailureKind, { label }: Launch, error: Error): Health | undefined {
    // they are reported, and hold nothing back
    if (isLasting(error)) this.#record.failed(label, error, this.#nowMs);
    if (isOfQuota(error)) this.#record.refused(label, error, this.#nowMs);
    if (kind === 'own') return undefined;
    const isAlone = kind === 'cloud' && this.#record.failed(label, error, this.#nowMs);
    return kind === 'capacity' || isAlone ? this.#healthOf(label) : this.#provider;
  }

  launchEnded(launch: Launch, state: LauncherEventMap['launchEnded']['state']): void {
    const isReady = state === 'ready';
    if (!this.#pace.has(launch)) {
      // one that another launcher began, or this one before it lost its session, shows that the provider works
      if (isReady && launch.node && !isStartable(launch.node) && this.#succeeded(launch)) this.#changed();
      return;
    }
    const { wasInTime, isFaster } = this.#pace.launchEnded(launch, isReady);
    this.#zones.launchEnded(launch, isReady);
    const isHealed = isReady && this.#succeeded(launch);
    if (!isReady) for (const health of this.#healthsOf(launch)) health.launchEnded(launch);
    if (isFaster || isHealed) this.#changed();
    if (wasInTime) this.#settled();
  }

  #succeeded(launch: Launch): boolean {
    const changes = this.#healthsOf(launch).map((health) => health.succeeded());
    this.#labels.delete(launch.label);
    this.#record.succeeded(launch.label, this.#nowMs);
    return changes.includes(true);
  }

  /** Cancels all timers. */
  close(): void {
    this.#cancelProbe?.();
    this.#pace.close();
  }

  /** A launch is late. If it was a probe, the next one does not wait for its end. */
  #late(launch: Launch, isSlower: boolean): void {
    const changes = this.#healthsOf(launch).map((health) => health.overdue(launch, this.#nowMs));
    if (isSlower || changes.includes(true)) this.#changed();
    this.#settled();
  }

  #changed(): void {
    logHealth(this.#context.logger, this.#name, this.report(), this.#nowMs);
    this.#awaitProbe();
    this.#context.events.emit('healthChanged', { provider: this.#name });
  }

  #settled(): void {
    if (this.isWell && this.#labels.size === 0) return;
    this.#context.probes?.checkSoon(this.#name);
  }

  #awaitProbe(): void {
    const { clock, events } = this.#context;
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
    const { nextProbeMs } = this;
    if (nextProbeMs === undefined) return;
    this.#cancelProbe = clock.setTimer(Math.max(0, nextProbeMs - clock.now()), () => {
      this.#awaitProbe();
      events.emit('healthChanged', { provider: this.#name });
    });
  }

  get #nowMs(): number {
    return this.#context.clock.now();
  }

  /** The healths that a launch affects. */
  #healthsOf({ label }: Launch): Health[] {
    const own = this.#labels.get(label);
    return [this.#provider, this.#api, ...(own ? [own] : [])];
  }

  #healthOf(label: string): Health {
    let health = this.#labels.get(label);
    if (!health) this.#labels.set(label, (health = new Health(this.#limits)));
    return health;
  }
}
