import type { StandbySettings } from '@nodepool/core/config';
import type { NodeLevel } from '@nodepool/core/launcher';
import { durationText } from '@nodepool/core/service';
import { BegunSchedule, type Wanted } from './begun-schedule.js';
import { LabelDemand, SLOT_MS, SLOTS_AN_HOUR, slotOf, type Arrival } from './demand.js';
import { fitHours, FITTED_SLOTS, KEPT_SLOTS, type Fit } from './fit.js';

/** The slots in which a launcher counted demand, in the order in which it did; shared by its labels. */
export type KnownSlots = ReadonlySet<number>;

/** Boots of which the usual time is taken, and the quantile that is usual. */
const BOOTS = 50;
const USUAL_SHARE = 0.75;
const USUAL_BOOT_MS = 120_000;
/** Scheduled nodes are launched so much earlier, as decisions are made twice a minute, and some launches take longer. */
const MARGIN_MS = 60_000;
/** Below these numbers nothing is fitted. */
const FEW_REQUESTS = 20;
const FEW_SLOTS = 4;
/** A fit is made again after so many slots. */
const FITTED_FOR = 24 * SLOTS_AN_HOUR;
/** Demand has stopped when so many requests were expected in two hours, and fewer than this share of them came. */
const SILENT = { requests: 10, share: 0.2, slots: 2 * SLOTS_AN_HOUR };

/** What a decision is made from, beside demand. */
export interface LabelNow {
  readonly settings: StandbySettings;
  readonly minReady: number;
  /** Free nodes. */
  readonly free: number;
}

/** Decides how many standby nodes to keep of one label, from its settings and requests. Does no I/O and reads no clock. */
export class LabelStandby {
  readonly demand = new LabelDemand();
  /** Requests that no scheduled node was kept for. */
  readonly unscheduled = new LabelDemand();
  readonly #known: KnownSlots;
  readonly #bootsMs: number[] = [];
  readonly #schedule = new BegunSchedule();
  #countsSinceMs = Infinity;
  #fit: { readonly fit: Fit; readonly slot: number; readonly settings: StandbySettings } | undefined;
  #fitted: { readonly key: string; readonly found: string | Wanted } | undefined;

  constructor(known: KnownSlots) {
    this.#known = known;
  }

  /** Counts a request for nodes of the label. */
  asked(arrival: Arrival): void {
    this.#countsSinceMs = Math.min(this.#countsSinceMs, arrival.atMs);
    this.demand.add(arrival, this.bootMs);
    const nodes = this.#schedule.take(arrival.nodes);
    if (nodes > 0) this.unscheduled.add({ ...arrival, nodes }, this.bootMs);
    for (const demand of [this.demand, this.unscheduled]) demand.prune(KEPT_SLOTS);
  }

  /** Adds the requests of a slot that were counted before a restart. */
  restore(slot: number, needs: readonly number[], unscheduled = needs): void {
    this.demand.restore(slot, needs);
    this.unscheduled.restore(slot, unscheduled);
  }

  /** Requests are counted from now on. */
  counts(fromMs: number): void {
    this.#countsSinceMs = fromMs;
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

  /** The number of standby nodes to keep now, and why. */
  decide(atMs: number, now: LabelNow): NodeLevel {
    const { settings, minReady, free } = now;
    const { followMs } = settings;
    const leadMs = this.bootMs + MARGIN_MS;
    const found = this.#schedule.wanted(settings, { atMs, leadMs, free, countsSinceMs: this.#countsSinceMs });
    const fitted = settings.auto ? this.#fittedAt(atMs, settings) : undefined;
    if (typeof fitted === 'object') found.push(fitted);
    if (followMs !== undefined) {
      const slot = slotOf(atMs);
      const nodes = this.unscheduled.largestNeed(Math.max(slotOf(atMs - followMs), slot - FITTED_SLOTS), slot);
      const time = durationText(followMs / 1000);
      found.push({ nodes, reason: `requests needed ${nodes} at once during the last ${time}` });
    }
    const lacks = typeof fitted === 'string';
    if (!settings.auto || lacks) found.push({ nodes: minReady, reason: `min-ready ${minReady}` });
    const nodes = Math.max(0, ...found.map((each) => each.nodes));
    const reasons = found.filter((each) => each.nodes > 0 || each.isDue).map(({ reason }) => reason);
    if (reasons.length === 0) reasons.push('nothing asks for one now');
    if (lacks) reasons.push(`nothing is fitted yet, as ${fitted}`);
    const isFallback = lacks && nodes === minReady;
    const most = isFallback ? nodes : settings.atMost;
    if (nodes > most) reasons.push(`at-most is ${most}`);
    return { nodes: Math.min(nodes, most), reason: reasons.join('; '), isFallback };
  }

  /** What the fit says for now and for a boot ahead, the same during a slot; a text: what it lacks. */
  #fittedAt(atMs: number, settings: StandbySettings): string | Wanted {
    const slots = [slotOf(atMs), slotOf(atMs + this.bootMs)] as const;
    const key = JSON.stringify([slots, settings]);
    if (this.#fitted?.key !== key) {
      const found = this.#lackAt(slots[0]) ?? this.#fitFor(slots, settings);
      this.#fitted = { key, found };
    }
    return this.#fitted.found;
  }

  #fitFor([slot, ahead]: readonly [number, number], settings: StandbySettings): Wanted {
    const fit = this.#fitAt(slot, settings);
    const [now, next] = [fit(slot * SLOT_MS), fit(ahead * SLOT_MS)];
    const silence = this.#silenceAt(slot, fit);
    if (silence !== undefined) return { nodes: 1, reason: silence };
    const { nodes, hour, isWeekend } = next.nodes > now.nodes ? next : now;
    const days = isWeekend ? 'weekends' : 'days of work';
    const reason = `${nodes} fit ${hour}:00 on ${days} in ${settings.timeZone}, for ${settings.goal ?? 100} of 100 requests at once`;
    return { nodes, reason };
  }

  /** How demand has stopped; `undefined`: it has not, or that is not known. */
  #silenceAt(slot: number, fit: Fit): string | undefined {
    let expected = 0;
    for (let each = slot - SILENT.slots; each < slot; each++) {
      if (!this.#known.has(each)) return undefined;
      expected += fit(each * SLOT_MS).requests / SLOTS_AN_HOUR;
    }
    const came = this.demand.requestsIn(slot - SILENT.slots, slot);
    if (expected < SILENT.requests || came >= SILENT.share * expected) return undefined;
    return `only ${came} of ${Math.round(expected)} usual requests came in two hours`;
  }

  #fitAt(slot: number, settings: StandbySettings): Fit {
    const last = this.#fit;
    if (last && last.settings === settings && Math.abs(slot - last.slot) < FITTED_FOR) return last.fit;
    // before its first request a label may not have existed
    const first = this.demand.firstSlot(slot - FITTED_SLOTS) ?? slot;
    const isKnown = (each: number) => each >= first && this.#known.has(each);
    const fit = fitHours(this.demand, isKnown, slot, { ...settings, goal: settings.goal ?? 100 });
    this.#fit = { fit, slot, settings };
    return fit;
  }

  /** What a fit lacks; `undefined`: nothing. */
  #lackAt(now: number): string | undefined {
    const from = now - FITTED_SLOTS;
    let [newest, present, slots] = [now, 0, 0];
    for (const slot of this.#known) {
      newest = Math.max(newest, slot);
      present = slot > now ? 0 : present + 1;
      if (slot >= from && slot < now) slots++;
    }
    // once some were counted after those of the future, they are those of a clock that was ahead
    if (newest > now && present < FEW_SLOTS) {
      const [at, isNow] = [newest, now].map(timeText);
      return `the newest recorded demand is of ${at} UTC, but it is ${isNow} UTC: the clock has jumped`;
    }
    if (slots < FEW_SLOTS) return `demand is on record for less than ${durationText((FEW_SLOTS * SLOT_MS) / 1000)}`;
    const requests = this.demand.requestsIn(from, now + 1);
    return requests < FEW_REQUESTS
      ? `only ${requests} requests are on record, and ${FEW_REQUESTS} are needed`
      : undefined;
  }
}

function timeText(slot: number): string {
  return new Date(slot * SLOT_MS).toISOString().slice(0, 16).replace('T', ' ');
}
