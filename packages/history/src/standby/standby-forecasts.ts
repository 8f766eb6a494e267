import type { CancelTimer, Clock, NodeRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import type { LabelConfig, Logger } from '@nodepool/core';
import type { Launcher, StandbyLevel } from '@nodepool/core/launcher';
import { isDemand } from '../record/requestors.js';
import { appendDemand, readDemand } from './demand-file.js';
import { slotOf } from './demand.js';
import { REMEMBERED_SLOTS } from './forecast.js';
import { KeptNodes, type StandbyCurve } from './kept-nodes.js';
import { LabelForecast } from './label-forecast.js';

const CHECK_MS = 30_000;
const LABELS_A_TURN = 10;
/** More than are used: a clock that was wrong for a while makes none of them too old. */
const KEPT_SLOTS = 2 * REMEMBERED_SLOTS;

/** Options of {@link StandbyForecasts}. */
export interface StandbyForecastsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** File that keeps the demand over restarts. */
  readonly path: string;
}

/** The launcher whose standby nodes are forecast. */
export type ForecastLauncher = Pick<Launcher, 'requests' | 'nodes' | 'keepStandby'>;

/**
 * Forecasts the standby nodes of labels with `standby`, from the requests and launches of all launchers, and gives the numbers to the
 * launcher. Does nothing while no label has `standby`.
 */
export class StandbyForecasts {
  readonly #options: StandbyForecastsOptions;
  readonly #known = new Set<number>();
  readonly #forecasts = new Map<string, LabelForecast>();
  /** When each node that is being launched began. */
  readonly #launching = new Map<string, number>();
  readonly #kept = new KeptNodes();
  #labels: readonly LabelConfig[] = [];
  #launcher: ForecastLauncher | undefined;
  #ends: (() => void)[] = [];
  #cancel: CancelTimer | undefined;
  #bootsMs: Record<string, number[]> = {};
  /** The slot that is being counted; missing: it did not begin under observation. */
  #slot: number | undefined;
  #lastSlot = 0;
  /** Number of slots that were added to the file. */
  #appended = 0;
  #reading: Promise<void> | undefined;
  #hasEnded = false;

  constructor(options: StandbyForecastsOptions) {
    this.#options = options;
  }

  /** Begins once the launcher has started, so that requests from before do not count as new. */
  start(launcher: ForecastLauncher): void {
    this.#launcher = launcher;
    this.#begin();
  }

  /** Puts other labels in force. */
  configure(labels: Iterable<LabelConfig>): void {
    this.#labels = [...labels].filter(({ standby, minReady }) => standby !== undefined && minReady >= 0);
    this.#begin();
  }

  /** The last day of each label with `standby`. */
  get curves(): StandbyCurve[] {
    const now = slotOf(this.#options.clock.now());
    const isKnown = (slot: number) => slot === now || this.#known.has(slot);
    return this.#labels.flatMap(({ name }) => this.#kept.curveOf(name, now, this.#of(name).demand, isKnown) ?? []);
  }

  /** Stops counting and forecasting. */
  stop(): void {
    this.#hasEnded = true;
    this.#cancel?.();
    for (const end of this.#ends.splice(0)) end();
    this.#launcher = undefined;
  }

  /** Counts and forecasts from now on, unless it does or there is no label. */
  #begin(): void {
    const launcher = this.#launcher;
    if (this.#hasEnded || !launcher || this.#labels.length === 0) return;
    if (this.#ends.length === 0) {
      this.#lastSlot = slotOf(this.#options.clock.now());
      this.#ends = [
        launcher.requests.onChange((change) => this.#requestChanged(change)),
        launcher.nodes.onChange((change) => this.#nodeChanged(change)),
      ];
    }
    this.#reading ??= this.#read();
    void this.#reading.then(() => this.#check());
  }

  async #read(): Promise<void> {
    const { path, clock, logger } = this.#options;
    try {
      const { slots, damagedLines } = await readDemand(path, slotOf(clock.now()) - REMEMBERED_SLOTS, KEPT_SLOTS);
      if (damagedLines > 0) logger.warn('Skipping damaged lines of recorded demand', { path, damagedLines });
      for (const { slot, needs, bootsMs, kept } of slots) {
        this.#known.add(slot);
        this.#kept.restore(slot, kept);
        for (const [label, counts] of Object.entries(needs)) this.#of(label).demand.restore(slot, counts);
        for (const [label, times] of Object.entries(bootsMs)) for (const ms of times) this.#of(label).booted(ms);
      }
    } catch (error) {
      logger.warn('Could not read the recorded demand; min-ready applies until there is enough again', { path, error });
    }
  }

  /** Ends the slot if it is over, and decides about all labels. */
  #check(): void {
    const launcher = this.#launcher;
    if (!launcher) return;
    this.#passTo(slotOf(this.#options.clock.now()));
    this.#decide(launcher, this.#labels, new Map());
  }

  /** Decides about a few labels a turn, as choosing their prices takes a millisecond each. */
  #decide(launcher: ForecastLauncher, labels: readonly LabelConfig[], levels: Map<string, StandbyLevel>): void {
    const { clock } = this.#options;
    const nowMs = clock.now();
    for (const { name, standby, minReady } of labels.slice(0, LABELS_A_TURN)) {
      if (!standby) continue;
      const decision = this.#of(name).decide(nowMs, standby, minReady);
      levels.set(name, decision);
      this.#kept.decided(name, slotOf(nowMs), decision);
    }
    const others = labels.slice(LABELS_A_TURN);
    if (others.length === 0) launcher.keepStandby(levels);
    const next = () => (others.length > 0 ? this.#decide(launcher, others, levels) : this.#check());
    this.#cancel?.();
    this.#cancel = clock.setTimer(others.length > 0 ? 0 : CHECK_MS, next);
  }

  /** The slot is known only if the whole of it was counted: not after a start, or a clock that jumped. */
  #passTo(slot: number): void {
    if (slot === this.#lastSlot) return;
    const counted = this.#slot;
    if (counted !== undefined && slot === counted + 1) void this.#store(counted);
    this.#bootsMs = {};
    this.#slot = slot === this.#lastSlot + 1 ? slot : undefined;
    this.#lastSlot = slot;
    for (const each of this.#known) if (each < slot - REMEMBERED_SLOTS) this.#known.delete(each);
  }

  async #store(slot: number): Promise<void> {
    const { path, logger } = this.#options;
    this.#known.add(slot);
    const needs: Record<string, readonly number[]> = {};
    for (const { name } of this.#labels) {
      const counts = this.#of(name).demand.needsOf(slot);
      if (counts.length > 0) needs[name] = counts;
    }
    try {
      await appendDemand(path, { slot, needs, bootsMs: this.#bootsMs, kept: this.#kept.in(slot) });
      if (++this.#appended % REMEMBERED_SLOTS === 0) await readDemand(path, Infinity, KEPT_SLOTS); // removes what is too much
    } catch (error) {
      logger.warn('Could not record the demand; it is known until a restart', { path, error });
    }
  }

  #requestChanged({ before, after }: RecordChange<RequestRecord>): void {
    if (before || after?.state !== 'requested' || !isDemand(after)) return;
    const atMs = this.#options.clock.now();
    for (const { name } of this.#labels) {
      const nodes = after.labels.filter((label) => label === name).length;
      if (nodes > 0) this.#of(name).asked({ atMs, nodes });
    }
  }

  #nodeChanged({ id, before, after }: RecordChange<NodeRecord>): void {
    if (!after || before?.state === after.state) {
      if (!after) this.#launching.delete(id);
      return;
    }
    const nowMs = this.#options.clock.now();
    if (after.state === 'building') {
      this.#launching.set(id, nowMs);
      return;
    }
    const beganMs = this.#launching.get(id);
    this.#launching.delete(id);
    if (beganMs === undefined || after.state !== 'ready' || nowMs < beganMs) return;
    for (const { name } of this.#labels.filter((label) => after.labels.includes(label.name))) {
      this.#of(name).booted(nowMs - beganMs);
      (this.#bootsMs[name] ??= []).push(nowMs - beganMs);
    }
  }

  #of(label: string): LabelForecast {
    let forecast = this.#forecasts.get(label);
    if (!forecast) this.#forecasts.set(label, (forecast = new LabelForecast(this.#known)));
    return forecast;
  }
}
