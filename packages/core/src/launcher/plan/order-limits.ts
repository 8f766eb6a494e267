import { describeControl, type ControlRecord } from '@nodepool/zk-protocol';
import { reason } from './candidates.js';
import { isAboutLabel } from './controls.js';
import type { PoolView, Reason } from './types.js';

/** What orders that limit labels and images still allow, in one pool during one planning pass. */
export class OrderLimits {
  readonly #view: PoolView;
  readonly #limits: readonly { readonly control: ControlRecord; left: number }[];

  constructor(view: PoolView) {
    this.#view = view;
    this.#limits = (view.controls ?? [])
      .filter(({ kind, mode }) => mode === 'limit' && (kind === 'label' || kind === 'image'))
      .map((control) => ({ control, left: (control.limit ?? 0) - (view.countOrdered?.(control) ?? 0) }));
  }

  /** The order that forbids to launch a node of the label, after those that are launched for the same request. */
  findShortage(label: string, launched: readonly string[]): Reason | undefined {
    const found = this.#limits.find(({ control, left }) => {
      if (!isAboutLabel(control, label, this.#view)) return false;
      return left <= launched.filter((other) => isAboutLabel(control, other, this.#view)).length;
    });
    if (!found) return undefined;
    const { kind, name, owner, limit } = found.control;
    return reason(
      'limited-by-operator',
      `${kind} "${name}" is ${describeControl(found.control)}; ${(limit ?? 0) - found.left} are there or about to be`,
      `nodes of the ${kind} are returned, or: nodepool ${kind} resume ${name}`,
      { kind, name, owner, limit: limit ?? 0 },
    );
  }

  /** A node of the label is launched, or kept for a request. */
  take(label: string): void {
    for (const limit of this.#limits) if (isAboutLabel(limit.control, label, this.#view)) limit.left--;
  }
}
