import { SLOT_MS, type LabelDemand } from './demand.js';
import type { NodeLevel } from '@nodepool/core/launcher';

/** A quarter of an hour of a label. */
export interface CurveSlot {
  readonly beginMs: number;
  /** The most standby nodes that were to be kept; `undefined`: it is not known. */
  readonly kept: number | undefined;
  /** The number of standby nodes with which no request would have waited; `undefined`: not counted. */
  readonly needed: number | undefined;
}

/** The standby nodes of a label now, and during the last day. */
export interface StandbyCurve extends NodeLevel {
  readonly label: string;
  /** In order of time. */
  readonly slots: readonly CurveSlot[];
}

const SLOTS = 86_400_000 / SLOT_MS;

/** Remembers how many standby nodes were to be kept of each label during the last day. */
export class KeptNodes {
  readonly #decisions = new Map<string, NodeLevel>();
  readonly #slots = new Map<number, Map<string, number>>();

  /** Notes a decision about a label. */
  decided(label: string, slot: number, decision: NodeLevel): void {
    this.#decisions.set(label, decision);
    this.#note(label, slot, decision.nodes);
    for (const each of this.#slots.keys()) if (each <= slot - SLOTS) this.#slots.delete(each);
  }

  /** Adds what was noted before a restart. */
  restore(slot: number, kept: Readonly<Record<string, number>>): void {
    for (const [label, nodes] of Object.entries(kept)) this.#note(label, slot, nodes);
  }

  /** The numbers of a slot by label. */
  in(slot: number): Record<string, number> {
    return Object.fromEntries(this.#slots.get(slot) ?? []);
  }

  /** The last day of a label; `undefined` before the first decision. */
  curveOf(
    label: string,
    now: number,
    demand: LabelDemand,
    isKnown: (slot: number) => boolean,
  ): StandbyCurve | undefined {
    const decision = this.#decisions.get(label);
    if (!decision) return undefined;
    const slots = Array.from({ length: SLOTS }, (_, at): CurveSlot => {
      const slot = now - SLOTS + 1 + at;
      const needed = demand.needsOf(slot).length;
      const isCounted = needed > 0 || isKnown(slot);
      const kept = this.#slots.get(slot)?.get(label);
      return { beginMs: slot * SLOT_MS, kept, needed: isCounted ? needed : undefined };
    });
    return { label, ...decision, slots };
  }

  #note(label: string, slot: number, nodes: number): void {
    let labels = this.#slots.get(slot);
    if (!labels) this.#slots.set(slot, (labels = new Map<string, number>()));
    labels.set(label, Math.max(nodes, labels.get(label) ?? 0));
  }
}
