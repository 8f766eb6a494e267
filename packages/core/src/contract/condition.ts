/** Kinds of the subjects of conditions, from the whole service to the single node. */
export const CONDITION_KINDS = [
  ...(['configuration', 'zookeeper', 'launcher', 'builder', 'provider'] as const),
  ...(['label', 'pool', 'image', 'host', 'node'] as const),
] as const;
/** Kind of the subject of a condition. */
export type ConditionKind = (typeof CONDITION_KINDS)[number];

/**
 * - `error` something does not work: requests wait or fail, machines are not deleted, images are not built
 * - `warning` it works, but not as it should, or will fail soon
 */
export type ConditionSeverity = 'error' | 'warning';

/**
 * A current problem, modelled on the conditions of Kubernetes. A subject has at most one of each type. A condition ends when its
 * cause is gone. A healthy subject has none.
 */
export interface Condition {
  readonly kind: ConditionKind;
  /** Name of the subject, unique within its kind: `sky`, `sky/main` for a pool, `sky/main/big` for a label in a pool, `debian/0000000007` for a build. */
  readonly name: string;
  /** The problem in one CamelCase word, one of docs/conditions.md: `LaunchesFail`, `NoSpace`, ... */
  readonly type: string;
  /** `unknown`: it was true when last observed, and cannot be checked now. */
  readonly status: 'true' | 'unknown';
  readonly severity: ConditionSeverity;
  /** Class of the cause in one CamelCase word, for programs: `Unauthorized`, `FlavorMissing`, ... */
  readonly reason: string;
  /** The full sentence for people, including the error of the cloud; does not start with the name of the subject. */
  readonly message: string;
  /** A command or a change that resolves this reason; empty: wait; the message says for what. */
  readonly nextStep: string;
  /** Facts for programs: counts, identifiers, times in seconds since the epoch. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>;
  /** Since when, ms since the epoch. */
  readonly sinceMs: number;
  /** When it was last found to be so, ms since the epoch. */
  readonly lastSeenMs: number;
}

/** A condition as the part that finds it knows it; times are kept by the list that it enters. */
export type FoundCondition = Omit<Condition, 'status' | 'sinceMs' | 'lastSeenMs'> &
  Partial<Pick<Condition, 'status' | 'sinceMs' | 'lastSeenMs'>>;

/** What conditions of one type mean. */
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

/** What the conditions of a file mean, by type. The file exports it as `CONDITIONS`, where docs/conditions.md and tests find it. */
export type ConditionTypes = Readonly<Record<string, ConditionType>>;

/** Makes a condition. Kind, severity and next step default to those of its type. */
export function newCondition<T extends ConditionTypes>(
  types: T,
  type: keyof T & string,
  details: Pick<FoundCondition, 'name' | 'reason' | 'message'> & Partial<FoundCondition>,
): FoundCondition {
  const { kind, severity, nextStep } = types[type] as ConditionType;
  return { kind, severity, nextStep, evidence: {}, ...details, type };
}
