import {
  describeControl,
  isInForce,
  type CancelTimer,
  type Clock,
  type ControlCache,
  type ControlRecord,
} from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import { resumeStep } from '../../text/resume-step.js';
import type { LauncherEvents } from './events.js';

/** Conditions of orders. */
export const CONDITIONS = {
  OrderInForce: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'an order of an operator pauses, drains or limits a provider, pool, label or image',
    reasons: { Paused: '`pause`', Drained: '`drain`', Limited: '`limit`' },
    nextStep: 'nodepool KIND resume NAME; for the order of a running nodepool rollback: let it end, or interrupt it',
  },
} as const satisfies ConditionTypes;

/** The longest time a timer can wait; an order that ends later is checked again then. */
const LONGEST_WAIT_MS = 2 ** 30;

/** Operators' orders in force, updated by a watch. An order with an end time ceases to be in force at that moment. */
export class ControlMirror {
  readonly #cache: ControlCache;
  readonly #clock: Clock;
  readonly #events: LauncherEvents;
  readonly #unsubscribe: () => void;
  #inForce: readonly ControlRecord[] = [];
  #cancelEnd: CancelTimer | undefined;

  constructor(cache: ControlCache, { clock, events }: { readonly clock: Clock; readonly events: LauncherEvents }) {
    this.#cache = cache;
    this.#clock = clock;
    this.#events = events;
    this.#unsubscribe = cache.onChange(() => this.#refresh());
  }

  /** Oldest first. The array is replaced on change, never modified. */
  get inForce(): readonly ControlRecord[] {
    return this.#inForce;
  }

  /** All stored orders, including those that have ended. */
  get stored(): Iterable<ControlRecord> {
    return this.#cache.values();
  }

  /** Whether an order limits a label or an image, for which nodes of all pools count. */
  get limitsLabels(): boolean {
    return this.#inForce.some(({ kind, mode }) => mode === 'limit' && (kind === 'label' || kind === 'image'));
  }

  conditions(): FoundCondition[] {
    return this.#inForce.flatMap(orderCondition);
  }

  stop(): void {
    this.#unsubscribe();
    this.#cancelEnd?.();
  }

  #refresh(): void {
    const nowMs = this.#clock.now();
    const inForce = [...this.#cache.values()].filter((control) => isInForce(control, nowMs));
    this.#inForce = inForce.sort((a, b) => a.createdTimeMs - b.createdTimeMs);
    this.#cancelEnd?.();
    const endMs = Math.min(...inForce.map(({ endTimeMs }) => endTimeMs ?? Infinity));
    const waitMs = Math.min(endMs - nowMs, LONGEST_WAIT_MS);
    this.#cancelEnd = endMs === Infinity ? undefined : this.#clock.setTimer(waitMs, () => this.#refresh());
    this.#events.emit('ordersChanged', {});
  }
}

const REASONS = { pause: 'Paused', drain: 'Drained', limit: 'Limited', hold: undefined } as const;

/** An order to hold a node takes nothing out of service. */
function orderCondition(control: ControlRecord): FoundCondition[] {
  const { kind, name, mode, owner, createdTimeMs: sinceMs } = control;
  const reason = REASONS[mode];
  if (reason === undefined) return [];
  return [
    newCondition(CONDITIONS, 'OrderInForce', {
      ...{ kind, name, reason, sinceMs, evidence: { owner } },
      ...{ message: `it is ${describeControl(control)}`, nextStep: resumeStep(control) },
    }),
  ];
}
