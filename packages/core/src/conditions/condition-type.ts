import type { ConditionKind, ConditionSeverity } from '../contract/condition.js';

/** Documentation of one type of condition. */
export interface ConditionType {
  readonly kind: ConditionKind;
  readonly severity: ConditionSeverity;
  /** When it is true; it ends when that is no longer so. */
  readonly meaning: string;
  /** Typical reasons and what each means; `errors`: the classes of errors. */
  readonly reasons: Readonly<Record<string, string>> | 'errors';
  /** Remedy for operators. Conditions carry the step for their reason. */
  readonly nextStep: string;
}
