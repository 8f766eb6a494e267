import { SLOT_MS, slotOf, type LabelDemand } from './demand.js';

/** What an operator asks of the standby nodes of a label. */
export interface StandbyGoal {
  /** 95 of 100 requests get their nodes within this time. */
  readonly targetWaitMs?: number | undefined;
  /** Node-hours a day that standby nodes may be idle, instead of a target. */
  readonly idleBudget?: number | undefined;
  readonly atMost: number;
}

/** What is known about a label. */
export interface LabelPast {
  readonly demand: LabelDemand;
  /** Whether demand was recorded during a slot. */
  readonly isKnown: (slot: number) => boolean;
  /** Usual time until a node that was taken is replaced. */
  readonly bootMs: number;
}

/** Demand to expect in a slot. */
export interface Expected {
  /** Requests an hour by their need: index 0 are those that need one standby node. */
  readonly perHour: readonly number[];
  /** Share of time during which each standby node is being replaced. */
  readonly away: readonly number[];
  /** Number of windows that this is taken from. */
  readonly windows: number;
}

const HOUR_MS = 3_600_000;
const SLOTS_A_DAY = 86_400_000 / SLOT_MS;
const SLOTS_A_WEEK = 7 * SLOTS_A_DAY;
/** Weeks and days whose same time is looked at. */
const WEEKS = 4;
const DAYS = 7;
/** A window reaches so many slots before and after the same time. */
const AROUND = 1;
/** The last hour is one more window. */
const RECENT_SLOTS = 4;
/** A day counts less than a week: it may be a weekend. */
const DAY_WEIGHT = 0.5;
/** Share of requests served in time. One in a hundred more than the goal, for what was never seen before. */
const SHARE = 0.96;
/** The price of a wait is chosen over these days. */
const PRICED_SLOTS = 7 * SLOTS_A_DAY;
/** Prices of a wait in idle node-hours, each half as much again as the one before. */
const PRICES = Array.from({ length: 28 }, (_, i) => 0.01 * 1.5 ** i);

/** Slots of demand that the forecast looks at. */
export const REMEMBERED_SLOTS = WEEKS * SLOTS_A_WEEK + PRICED_SLOTS + AROUND;

interface TimeWindow {
  readonly slots: readonly number[];
  readonly weight: number;
}

/**
 * The demand of the same time in earlier weeks and of the last hour, the windows averaged. With less than two weeks on record,
 * also of the same time on earlier days.
 * @param from - the first slot of which nothing is known yet
 */
export function expectDemand(past: LabelPast, slot: number, from: number): Expected {
  const windows = windowsOf(past, slot, from);
  const total = windows.reduce((sum, { weight }) => sum + weight, 0);
  const perHour: number[] = [];
  for (const { slots, weight } of windows) {
    const share = weight / total / ((slots.length * SLOT_MS) / HOUR_MS);
    for (const each of slots)
      for (const [at, count] of past.demand.needsOf(each).entries()) perHour[at] = (perHour[at] ?? 0) + count * share;
  }
  const away: number[] = [];
  let atLeast = 0;
  for (let at = perHour.length - 1; at >= 0; at--) {
    perHour[at] ??= 0;
    atLeast += perHour[at] ?? 0;
    away[at] = Math.min(1, (atLeast * past.bootMs) / HOUR_MS);
  }
  return { perHour, away, windows: windows.length };
}

function windowsOf({ isKnown }: LabelPast, slot: number, from: number): TimeWindow[] {
  const windows: TimeWindow[] = [];
  const add = (first: number, last: number, weight: number) => {
    const slots: number[] = [];
    for (let at = first; at <= last; at++) if (at < from && isKnown(at)) slots.push(at);
    if (slots.length > 0) windows.push({ slots, weight });
  };
  const addSameTime = (slotsAgo: number, weight: number) =>
    add(slot - slotsAgo - AROUND, slot - slotsAgo + AROUND, weight);
  for (let week = 1; week <= WEEKS; week++) addSameTime(week * SLOTS_A_WEEK, 1);
  if (windows.length < 2) for (let day = 1; day <= DAYS; day++) addSameTime(day * SLOTS_A_DAY, DAY_WEIGHT);
  add(from - RECENT_SLOTS, from - 1, 1);
  return windows;
}

/**
 * The newsvendor rule: the number of nodes with which the waits that are spared, at their price, exceed the idle time by most.
 * @param price - idle node-hours that sparing one request its wait may cost
 */
export function chooseLevel({ perHour, away }: Expected, price: number, atMost: number): number {
  let [best, level, sum] = [0, 0, 0];
  for (let at = 0; at < Math.min(perHour.length, atMost); at++) {
    sum += price * (perHour[at] ?? 0) - (1 - (away[at] ?? 0));
    if (sum > best) [best, level] = [sum, at + 1];
  }
  return level;
}

/**
 * The lowest price with which the last days would have met the target, or the highest one with which they would have kept to the
 * budget. Each slot of these days is forecast from the time before it.
 */
export function choosePrice(past: LabelPast, goal: StandbyGoal, from: number): number {
  const served = PRICES.map(() => 0);
  const idle = PRICES.map(() => 0);
  let [requests, known] = [0, 0];
  for (let slot = from - PRICED_SLOTS; slot < from; slot++) {
    if (!past.isKnown(slot)) continue;
    known++;
    const needs = past.demand.needsOf(slot);
    const expected = expectDemand(past, slot, slot);
    requests += sum(needs, needs.length);
    for (const [i, price] of PRICES.entries()) {
      const level = chooseLevel(expected, price, goal.atMost);
      served[i] = (served[i] ?? 0) + sum(needs, level);
      idle[i] = (idle[i] ?? 0) + level - sum(expected.away, level);
    }
  }
  const { idleBudget } = goal;
  if (idleBudget === undefined)
    return PRICES.find((_, i) => (served[i] ?? 0) >= SHARE * requests) ?? PRICES.at(-1) ?? 0;
  const hoursADay = 24 / Math.max(1, known);
  return PRICES.findLast((_, i) => (idle[i] ?? 0) * hoursADay <= idleBudget) ?? 0;
}

/** Standby nodes to keep now, and what decided. */
export interface Level {
  readonly nodes: number;
  /** The slot that needs them. */
  readonly slot: number;
  readonly expected: Expected;
}

/** Enough nodes for this slot and for the one in which a node launched now is ready. */
export function levelAt(past: LabelPast, atMs: number, price: number, atMost: number): Level {
  const from = slotOf(atMs);
  const [now, next] = [from, slotOf(atMs + past.bootMs)].map((slot): Level => {
    const expected = expectDemand(past, slot, from);
    return { nodes: chooseLevel(expected, price, atMost), slot, expected };
  }) as [Level, Level];
  return next.nodes > now.nodes ? next : now;
}

function sum(values: readonly number[], count: number): number {
  let total = 0;
  for (let at = 0; at < Math.min(count, values.length); at++) total += values[at] ?? 0;
  return total;
}
