import type { Condition, FoundCondition } from '../contract/condition.js';
import type { ServiceConditions } from './merge-conditions.js';

/** Where the conditions of a service come from, and where they are published. */
export interface ConditionSource {
  /** What is wrong now, as the parts of the service know it; nothing before it has started. */
  find(): readonly FoundCondition[];
  /** Has the registry show these as the conditions of this service. */
  publish(conditions: readonly Condition[]): void;
  /** What other services have published, as far as this one follows the registry. */
  readonly ofOthers: readonly ServiceConditions[];
  /** Tells when something happened that a condition may follow from. @returns ends it */
  onConcern(listener: () => void): () => void;
}
