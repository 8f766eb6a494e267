import { isNodepoolError, newCondition, type Clock, type FoundCondition } from '@nodepool/core';
import type { ApiRule } from './api.js';
import { ForbiddenError } from './errors.js';
import { nameOf, type Right } from './rules.js';
import { GIVE, HELPING, narrowText, reviewRights, type RightsConfig, type WantedRight } from './wanted-rights.js';

/** Conditions of rights. */
export const CONDITIONS = {
  RightsMissing: {
    kind: 'provider',
    severity: 'warning',
    meaning: 'the account of the launcher lacks verbs; the message names them all, and what their absence costs',
    reasons: { Forbidden: 'the cluster says so, of a call or in a review of the rules' },
    nextStep: 'allow these verbs, or leave it as it is',
  },
} as const;

/** What the launcher may do in a cluster, as far as calls and reviews have shown. */
export class Rights {
  readonly #clock: Pick<Clock, 'now'>;
  /** Missing ones by their names. */
  readonly #missing = new Map<
    string,
    { readonly cost: string; readonly sinceMs: number; readonly lastSeenMs: number }
  >();
  /** What roles of nodes lack, as the launcher may not give it, by their names. */
  readonly #narrow = new Map<string, readonly string[]>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The answer of a call that only helps; what counts as its answer where the right for it is missing. */
  async help<T>(call: Promise<T>, right: Right, otherwise: () => T | Promise<T>): Promise<T> {
    try {
      const answer = await call;
      this.allowed(right);
      return answer;
    } catch (error) {
      if (!this.refused(error)) throw error;
      return otherwise();
    }
  }

  /** Notes a refusal. @returns whether the error is the refusal of what only helps */
  refused(error: unknown): boolean {
    if (!(error instanceof ForbiddenError)) return false;
    const cost = HELPING[nameOf(error.right)];
    if (cost === undefined) return false;
    this.lacks({ ...error.right, cost });
    return true;
  }

  /** Notes a right that is there. */
  allowed(right: Right): void {
    this.#missing.delete(nameOf(right));
  }

  /** Notes a missing right. */
  lacks(right: WantedRight): void {
    const nowMs = this.#clock.now();
    const sinceMs = this.#missing.get(nameOf(right))?.sinceMs ?? nowMs;
    this.#missing.set(nameOf(right), { cost: right.cost, sinceMs, lastSeenMs: nowMs });
  }

  /** Whether a right is known to be missing. */
  isMissing(right: Right): boolean {
    return this.#missing.has(nameOf(right));
  }

  /** Notes what a role of nodes lacks; empty: nothing. @returns whether that is news */
  narrow(role: string, lost: readonly string[]): boolean {
    const known = this.#narrow.get(role) ?? [];
    this.#narrow.set(role, lost);
    const cost = narrowText(this.#narrow);
    if (cost === '') this.allowed(GIVE);
    else this.lacks({ ...GIVE, cost });
    return lost.join() !== known.join();
  }

  /** One condition with everything that is missing. */
  condition(provider: string): FoundCondition | undefined {
    const found = [...this.#missing].sort(([one], [other]) => (one < other ? -1 : 1));
    if (found.length === 0) return undefined;
    return newCondition(CONDITIONS, 'RightsMissing', {
      ...{ name: provider, reason: 'Forbidden' },
      message: `the account of the launcher may not ${found.map(([name, { cost }]) => `${name} (${cost})`).join(', ')}`,
      nextStep: 'allow these verbs, or leave it as it is: see the permissions in docs/kubernetes.md',
      evidence: { verbs: found.map(([name]) => name).join(', ') },
      sinceMs: Math.min(...found.map(([, { sinceMs }]) => sinceMs)),
      lastSeenMs: Math.max(...found.map(([, { lastSeenMs }]) => lastSeenMs)),
    });
  }

  /** Asks the cluster for all rights that a provider uses. */
  async review(
    config: RightsConfig,
    ask: (namespace: string) => Promise<readonly ApiRule[] | undefined>,
  ): Promise<void> {
    const reviewed = await reviewRights(config, ask);
    if (!reviewed) return;
    for (const right of reviewed.fine) this.allowed(right);
    for (const right of reviewed.missing) this.lacks(right);
    for (const [role, lost] of reviewed.narrow) this.narrow(role, lost);
  }
}

/** An answer that is no answer, as from a proxy, must not hinder. */
export function unlessOut(error: unknown): undefined {
  if (isNodepoolError(error)) return undefined;
  throw error;
}
