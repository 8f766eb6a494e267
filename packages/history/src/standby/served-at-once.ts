import type { FoundCondition, LabelConfig } from '@nodepool/core';
import { newCondition, type ConditionTypes } from '@nodepool/core/service';
import { SLOT_MS } from './demand.js';

const WEEK_SLOTS = (7 * 86_400_000) / SLOT_MS;
/** With fewer requests a share says little. */
const FEW_REQUESTS = 50;

/** Labels whose standby nodes serve too few requests. */
export const CONDITIONS = {
  StandbyGoalMissed: {
    ...{ kind: 'label', severity: 'warning' },
    meaning:
      'standby nodes of a label with a `goal` served fewer requests at once during the last week than it says, as one launcher counted',
    reasons: { TooFew: 'the message has the numbers' },
    nextStep: 'nodepool advise -c FILE proposes what to write, from the recorded requests; or lower `goal`',
  },
} as const satisfies ConditionTypes;

/** Counts the requests of the last week that standby nodes served at once. */
export class ServedAtOnce {
  /** By slot and label: served at once, and all. */
  readonly #slots = new Map<number, Map<string, [number, number]>>();

  /** Notes a request that was fulfilled. */
  add(label: string, slot: number, isAtOnce: boolean): void {
    this.restore(slot, { [label]: [isAtOnce ? 1 : 0, 1] });
  }

  /** Adds what was counted before a restart. */
  restore(slot: number, served: Readonly<Record<string, readonly number[]>>): void {
    let labels = this.#slots.get(slot);
    if (!labels) this.#slots.set(slot, (labels = new Map<string, [number, number]>()));
    for (const [label, [atOnce = 0, all = 0]] of Object.entries(served)) {
      const [before, allBefore] = labels.get(label) ?? [0, 0];
      labels.set(label, [before + atOnce, allBefore + all]);
    }
  }

  /** The counts of a slot by label. */
  in(slot: number): Record<string, readonly number[]> {
    return Object.fromEntries(this.#slots.get(slot) ?? []);
  }

  /** The labels whose goal the last week has missed. */
  conditions(labels: Iterable<LabelConfig>, now: number): FoundCondition[] {
    for (const slot of this.#slots.keys()) if (slot <= now - WEEK_SLOTS) this.#slots.delete(slot);
    return [...labels].flatMap(({ name, standby }) => {
      const goal = standby?.goal;
      let [atOnce, all] = [0, 0];
      for (const counts of this.#slots.values()) {
        const [some = 0, every = 0] = counts.get(name) ?? [];
        atOnce += some;
        all += every;
      }
      if (goal === undefined || all < FEW_REQUESTS || 100 * atOnce >= goal * all) return [];
      const message = `${atOnce} of ${all} requests of the last week were served at once, ${Math.floor((100 * atOnce) / all)} of 100, and the goal is ${goal}`;
      return [
        newCondition(CONDITIONS, 'StandbyGoalMissed', {
          name,
          reason: 'TooFew',
          message,
          evidence: { atOnce, all, goal },
        }),
      ];
    });
  }
}
