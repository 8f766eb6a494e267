import { durationText } from '@nodepool/core/service';
import { LabelDemand, SLOT_MS, slotOf, type Arrival } from './demand.js';
import { choosePrice, levelAt, REMEMBERED_SLOTS, type Level, type StandbyGoal } from './forecast.js';

/** The number of standby nodes to keep, and why. */
export interface StandbyDecision {
  readonly nodes: number;
  readonly reason: string;
  /** `min-ready` applies, as there is no forecast. */
  readonly isFallback: boolean;
}

/** The slots in which a launcher recorded demand; shared by its labels. */
export type KnownSlots = ReadonlySet<number>;

/** Boots of which the usual time is taken, and the quantile that is usual. */
const BOOTS = 50;
const USUAL_SHARE = 0.75;
const USUAL_BOOT_MS = 120_000;
/** Below these numbers there is no forecast. */
const FEW_REQUESTS = 20;
const FEW_SLOTS = 4;
/** The price of a wait is chosen again after this many slots. */
const PRICED_FOR = 4;

/** Forecasts the standby nodes of one label from its requests and boots. Does no I/O and reads no clock. */
export class LabelForecast {
  readonly demand = new LabelDemand();
  readonly #known: KnownSlots;
  readonly #bootsMs: number[] = [];
  #price: { readonly value: number; readonly slot: number; readonly goal: string } | undefined;
  #last: { readonly key: string; readonly decision: StandbyDecision } | undefined;

  constructor(known: KnownSlots) {
    this.#known = known;
  }

  /** Counts a request for nodes of the label. */
  asked(arrival: Arrival): void {
    this.demand.add(arrival, this.bootMs);
  }

  /** Notes how long a launch took. */
  booted(tookMs: number): void {
    this.#bootsMs.push(tookMs);
    if (this.#bootsMs.length > BOOTS) this.#bootsMs.shift();
  }

  /** The usual time of a launch. */
  get bootMs(): number {
    const sorted = [...this.#bootsMs].sort((a, b) => a - b);
    return sorted[Math.ceil(USUAL_SHARE * sorted.length) - 1] ?? USUAL_BOOT_MS;
  }

  /** The number of standby nodes to keep now. The same answer for the same time, demand and goal. */
  decide(atMs: number, goal: StandbyGoal, minReady: number): StandbyDecision {
    const { bootMs } = this;
    const slots = [slotOf(atMs), slotOf(atMs + bootMs)];
    const key = JSON.stringify([slots, goal, minReady, this.#known.size]);
    if (this.#last?.key !== key) this.#last = { key, decision: this.#decide(atMs, bootMs, goal, minReady) };
    return this.#last.decision;
  }

  #decide(atMs: number, bootMs: number, goal: StandbyGoal, minReady: number): StandbyDecision {
    const now = slotOf(atMs);
    const lack = this.#lackAt(now);
    if (lack !== undefined) return { nodes: minReady, reason: `min-ready ${minReady}, as ${lack}`, isFallback: true };
    if (goal.targetWaitMs !== undefined && bootMs <= goal.targetWaitMs) {
      const reason = `a launch takes ${secondsText(bootMs)}, within target-wait ${secondsText(goal.targetWaitMs)}`;
      return { nodes: 0, reason, isFallback: false };
    }
    this.demand.prune(now - REMEMBERED_SLOTS);
    // before its first request a label may not have existed
    const firstSlot = this.demand.firstSlot ?? now;
    const isKnown = (slot: number) => slot >= firstSlot && this.#known.has(slot);
    const past = { demand: this.demand, isKnown, bootMs };
    const goalKey = JSON.stringify(goal);
    if (this.#price?.goal !== goalKey || now - this.#price.slot >= PRICED_FOR)
      this.#price = { value: choosePrice(past, goal, now), slot: now, goal: goalKey };
    const { value: price } = this.#price;
    const level = levelAt(past, atMs, price, goal.atMost);
    return { nodes: level.nodes, reason: reasonOf(level, { price, bootMs, goal }), isFallback: false };
  }

  /** What a forecast lacks; `undefined`: nothing. */
  #lackAt(now: number): string | undefined {
    const newest = Math.max(-1, ...this.#known);
    if (newest > now) {
      const [at, isNow] = [newest, now].map(timeText);
      return `the newest recorded demand is of ${at} UTC, but it is ${isNow} UTC: the clock has jumped`;
    }
    let slots = 0;
    for (const slot of this.#known) if (slot < now) slots++;
    if (slots < FEW_SLOTS) return `demand is on record for less than ${durationText((FEW_SLOTS * SLOT_MS) / 1000)}`;
    const { requests } = this.demand;
    return requests < FEW_REQUESTS
      ? `only ${requests} requests are on record, and a forecast needs ${FEW_REQUESTS}`
      : undefined;
  }
}

interface Circumstances {
  readonly price: number;
  readonly bootMs: number;
  readonly goal: StandbyGoal;
}

function reasonOf({ nodes, slot, expected }: Level, { price, bootMs, goal }: Circumstances): string {
  const { perHour, away, windows } = expected;
  const total = perHour.reduce((sum, each) => sum + each, 0);
  const served = perHour.slice(0, nodes).reduce((sum, each) => sum + each, 0);
  const share = total === 0 ? 100 : Math.floor((100 * served) / total);
  const saved = (count: number) => `node ${count} spares ${shortNumber(perHour[count - 1] ?? 0)} waits an hour`;
  const idle = (count: number) => `${Math.round(100 * (1 - (away[count - 1] ?? 0)))} % of the time`;
  const aim =
    goal.idleBudget === undefined
      ? `target-wait ${secondsText(goal.targetWaitMs ?? 0)}`
      : `idle-budget ${goal.idleBudget} node-hours a day`;
  const parts = [
    `${shortNumber(total)} requests an hour expected from ${timeText(slot)} UTC (${windows} windows: this time of the week, the last hour)`,
    `a launch takes ${secondsText(bootMs)}`,
    `${nodes} standby nodes serve ${share} of 100 requests at once`,
    nodes > 0 ? `${saved(nodes)} and is idle ${idle(nodes)}` : 'no node pays',
  ];
  if (nodes >= goal.atMost) parts.push(`at-most is ${goal.atMost}`);
  else parts.push(`${saved(nodes + 1)} and would be idle ${idle(nodes + 1)}`);
  parts.push(`for ${aim}, a spared wait may cost ${shortNumber(price)} idle node-hours`);
  return parts.join('; ');
}

function secondsText(ms: number): string {
  return durationText(ms / 1000);
}

function timeText(slot: number): string {
  return new Date(slot * SLOT_MS).toISOString().slice(0, 16).replace('T', ' ');
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(2)));
}
