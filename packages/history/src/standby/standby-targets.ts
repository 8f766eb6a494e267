import {
  isParked,
  steadyNow,
  type CancelTimer,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { LabelConfig, Logger } from '@nodepool/core';
import type { Engine, Feature, MakeFeature, NodeLevel } from '@nodepool/core/launcher';
import { isDemand } from '../record/requestors.js';
import { appendDemand, readDemand, type SlotRecord } from './demand-file.js';
import { slotOf } from './demand.js';
import { FITTED_SLOTS, KEPT_SLOTS } from './fit.js';
import { KeptNodes, type StandbyCurve } from './kept-nodes.js';
import { LabelStandby } from './label-standby.js';
import { ServedAtOnce } from './served-at-once.js';

const CHECK_MS = 30_000;
/** A fit takes a millisecond. */
const LABELS_A_TURN = 10;

/** Options of {@link standbyTargets}. */
export interface StandbyTargetsOptions {
  readonly logger: Logger;
  /** File that keeps the demand over restarts. */
  readonly path: string;
}

/** A request that is waiting. */
interface Waiting {
  readonly labels: readonly string[];
  /** Steady time. */
  readonly sinceMs: number;
}

/**
 * Decides how many standby nodes labels with `standby` have, from their schedules and from the requests and launches of all launchers.
 * Counts nothing while no label has `standby`.
 */
export class StandbyTargets implements Feature {
  readonly #engine: Engine;
  readonly #options: StandbyTargetsOptions;
  readonly #known = new Set<number>();
  readonly #labels = new Map<string, LabelStandby>();
  readonly #levels = new Map<string, NodeLevel>();
  /** When each node that is being launched began; steady time. */
  readonly #launching = new Map<string, number>();
  readonly #waiting = new Map<RequestId, Waiting>();
  readonly #kept = new KeptNodes();
  readonly #served = new ServedAtOnce();
  #ends: readonly (() => void)[] = [];
  #cancel: CancelTimer | undefined;
  #bootsMs: Record<string, number[]> = {};
  /** The slot that is being counted; missing: it did not begin under observation. */
  #slot: number | undefined;
  #lastSlot = 0;
  /** Requests were counted that the file does not have: at most those of half a minute. */
  #isUnsaved = false;
  /** Number of records that were added to the file. */
  #appended = 0;
  #reading: Promise<void> | undefined;
  #hasEnded = false;

  constructor(engine: Engine, options: StandbyTargetsOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  target({ name }: LabelConfig): NodeLevel | undefined {
    return this.#levels.get(name);
  }

  conditions() {
    return this.#served.conditions(this.#configured, this.#lastSlot);
  }

  /** The last day of each label with `standby`. */
  get curves(): StandbyCurve[] {
    const now = slotOf(this.#engine.context.clock.now());
    const isKnown = (slot: number) => slot === now || this.#known.has(slot);
    return this.#configured.flatMap(({ name }) => this.#kept.curveOf(name, now, this.#of(name).demand, isKnown) ?? []);
  }

  /** Counts from the start on, so that requests from before do not count as new, unless no label has `standby`. */
  reconsider(): void {
    const { life, events, clock } = this.#engine.context;
    if (this.#hasEnded || !life.isStarted) return;
    const configured = new Set(this.#configured.map(({ name }) => name));
    this.#forgetOthers(configured);
    if (configured.size === 0) return;
    if (this.#ends.length === 0) {
      this.#lastSlot = slotOf(clock.now());
      this.#ends = [
        events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after)),
        events.on('nodeChanged', ({ id, before, after }) => this.#nodeChanged(id, before, after)),
      ];
    }
    this.#reading ??= this.#read();
    void this.#reading.then(() => this.#check());
  }

  /** A label that comes back begins again: nothing was counted meanwhile. */
  #forgetOthers(configured: ReadonlySet<string>): void {
    for (const name of this.#labels.keys()) {
      if (configured.has(name)) continue;
      this.#labels.delete(name);
      this.#levels.delete(name);
    }
  }

  stop(): void {
    this.#hasEnded = true;
    this.#cancel?.();
    for (const end of this.#ends) end();
  }

  get #configured(): LabelConfig[] {
    return this.#configuredOf(this.#engine.context.config.now.labels.keys());
  }

  /** Those of the labels that have `standby`, each once. */
  #configuredOf(names: Iterable<string>): LabelConfig[] {
    const { labels } = this.#engine.context.config.now;
    return [...new Set(names)].flatMap((name) => {
      const label = labels.get(name);
      return label?.standby && label.minReady >= 0 ? [label] : [];
    });
  }

  async #read(): Promise<void> {
    const { path, logger } = this.#options;
    try {
      const { slots, damagedLines } = await readDemand(path, KEPT_SLOTS);
      if (damagedLines > 0) logger.warn('Skipping damaged lines of recorded demand', { path, damagedLines });
      for (const { slot, isPartial, needs, unscheduled, bootsMs, kept, served } of slots) {
        if (!isPartial) this.#known.add(slot);
        this.#kept.restore(slot, kept);
        this.#served.restore(slot, served);
        for (const [label, counts] of Object.entries(needs)) this.#of(label).restore(slot, counts, unscheduled[label]);
        for (const [label, times] of Object.entries(bootsMs)) for (const ms of times) this.#of(label).booted(ms);
      }
    } catch (error) {
      logger.warn('Could not read the recorded demand; it is counted again', { path, error });
    }
  }

  /** Ends the slot if it is over, and decides about all labels. */
  #check(): void {
    if (this.#hasEnded) return;
    const { clock, mirror } = this.#engine.context;
    this.#passTo(slotOf(clock.now()), mirror.requests.ready);
    if (this.#isUnsaved) void this.#store(this.#lastSlot, true);
    this.#decideAll(this.#configured);
  }

  #decideAll(labels: readonly LabelConfig[]): void {
    for (const label of labels.slice(0, LABELS_A_TURN)) this.#decide(label);
    const others = labels.slice(LABELS_A_TURN);
    const next = () => (others.length > 0 ? this.#decideAll(others) : this.#check());
    this.#cancel?.();
    this.#cancel = this.#engine.context.clock.setTimer(others.length > 0 ? 0 : CHECK_MS, next);
  }

  #decide({ name, standby: settings, minReady }: LabelConfig): void {
    if (!settings) return;
    const { context, freeNodes } = this.#engine;
    const atMs = context.clock.now();
    const free = context.mirror.idleCount(name);
    const level = this.#of(name).decide(atMs, { settings, minReady, free });
    const before = this.#levels.get(name);
    this.#levels.set(name, level);
    this.#kept.decided(name, slotOf(atMs), level);
    if (before?.nodes !== level.nodes) freeNodes?.check(name);
  }

  /** The slot is known only if the whole of it was counted: not after a start, a clock that jumped, or without a connection. */
  #passTo(slot: number, isCounting: boolean): void {
    if (!isCounting) this.#slot = undefined;
    if (slot === this.#lastSlot) return;
    const counted = this.#slot;
    const isWhole = counted !== undefined && slot === counted + 1;
    if (isWhole || this.#isUnsaved) void this.#store(this.#lastSlot, !isWhole);
    this.#bootsMs = {};
    this.#slot = isCounting && slot === this.#lastSlot + 1 ? slot : undefined;
    this.#lastSlot = slot;
  }

  async #store(slot: number, isPartial: boolean): Promise<void> {
    const { path, logger } = this.#options;
    this.#isUnsaved = false;
    if (!isPartial) this.#counted(slot);
    const counts = { ...this.#needsIn(slot), kept: this.#kept.in(slot), served: this.#served.in(slot) };
    try {
      await appendDemand(path, { slot, isPartial, bootsMs: this.#bootsMs, ...counts });
      if (++this.#appended % FITTED_SLOTS === 0) await readDemand(path, KEPT_SLOTS); // removes what is too much
    } catch (error) {
      logger.warn('Could not record the demand; it is known until a restart', { path, error });
    }
  }

  /** The last one is the one that was counted last, also where a clock went back. */
  #counted(slot: number): void {
    this.#known.delete(slot);
    this.#known.add(slot);
    for (const each of this.#known) if (this.#known.size > KEPT_SLOTS) this.#known.delete(each);
  }

  #needsIn(slot: number): Pick<SlotRecord, 'needs' | 'unscheduled'> {
    const needs: Record<string, readonly number[]> = {};
    const unscheduled: Record<string, readonly number[]> = {};
    for (const { name } of this.#configured) {
      const label = this.#of(name);
      const [all, others] = [label.demand.needsOf(slot), label.unscheduled.needsOf(slot)];
      if (all.length > 0) needs[name] = all;
      if (String(all) !== String(others)) unscheduled[name] = others;
    }
    return { needs, unscheduled };
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    if (after?.state === 'fulfilled') this.#fulfilled(after.id);
    if (!after) {
      if (before) this.#waiting.delete(before.id);
      return;
    }
    if (before || after.state !== 'requested' || !isDemand(after)) return;
    const { clock, mirror } = this.#engine.context;
    if (!mirror.requests.ready) {
      this.#slot = undefined; // it came some time before: all are read at once after a reconnect
      return;
    }
    const atMs = clock.now();
    const labels = this.#configuredOf(after.labels);
    for (const label of labels) {
      const nodes = after.labels.filter((each) => each === label.name).length;
      this.#of(label.name).asked({ atMs, nodes });
      this.#decide(label);
      this.#isUnsaved = true;
    }
    if (labels.length > 0) this.#waiting.set(after.id, { labels: after.labels, sinceMs: steadyNow(clock) });
  }

  /** At once is before half of a launch would be over: stopped nodes need some seconds. */
  #fulfilled(id: RequestId): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    const waitedMs = steadyNow(this.#engine.context.clock) - waiting.sinceMs;
    for (const { name } of this.#configuredOf(waiting.labels))
      this.#served.add(name, this.#lastSlot, waitedMs < this.#of(name).bootMs / 2);
  }

  #nodeChanged(id: string, before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (!after || before?.state === after.state) {
      if (!after) this.#launching.delete(id);
      return;
    }
    const nowMs = steadyNow(this.#engine.context.clock);
    if (after.state === 'building') {
      if (!before || !isParked(before)) this.#launching.set(id, nowMs); // the start of a stopped one takes seconds
      return;
    }
    const beganMs = this.#launching.get(id);
    this.#launching.delete(id);
    if (beganMs === undefined || after.state !== 'ready') return;
    for (const { name } of this.#configuredOf(after.labels)) {
      this.#of(name).booted(nowMs - beganMs);
      (this.#bootsMs[name] ??= []).push(nowMs - beganMs);
    }
  }

  #of(label: string): LabelStandby {
    let found = this.#labels.get(label);
    if (!found) {
      this.#labels.set(label, (found = new LabelStandby(this.#known)));
      found.counts(this.#engine.context.clock.now());
    }
    return found;
  }
}

/** Standby nodes by schedule and demand: the feature, and what it knows. */
export function standbyTargets(options: StandbyTargetsOptions): { make: MakeFeature; curves: () => StandbyCurve[] } {
  let made: StandbyTargets | undefined;
  return {
    make: (engine) => (made = new StandbyTargets(engine, options)),
    curves: () => made?.curves ?? [],
  };
}
