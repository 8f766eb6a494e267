/** What a condition can be about. */
export type ConditionKind =
  'configuration' | 'launcher' | 'builder' | 'zookeeper' | 'provider' | 'pool' | 'label' | 'image' | 'host' | 'node';

/**
 * - `error` something does not work: requests wait or fail, machines stay, images are not built
 * - `warning` it works, but will not for long or not as it should
 */
export type ConditionSeverity = 'error' | 'warning';

/**
 * Something that is wrong now, as Kubernetes has conditions. There is one of a type for each subject; it is gone when its cause
 * is, whoever removed it. What is well has no condition.
 */
export interface Condition {
  readonly kind: ConditionKind;
  /** Of the subject, unique within its kind: `sky`, `sky/main` for a pool, `sky/main/big` for a label in a pool, `debian/0000000007` for a build. */
  readonly name: string;
  /** What is wrong in one CamelCase word, from the table of types: `LaunchesFail`, `NoSpace`, ... */
  readonly type: string;
  /** `unknown`: it was true when it was last seen, and cannot be looked at now. */
  readonly status: 'true' | 'unknown';
  readonly severity: ConditionSeverity;
  /** Class of the cause in one CamelCase word, for programs: `Unauthorized`, `FlavorMissing`, ... */
  readonly reason: string;
  /** The whole sentence for a person, the error of the cloud included; without the name of the subject in front. */
  readonly message: string;
  /** A command, or what to change, that fits this reason; empty: nothing but waiting helps, and the message says for what. */
  readonly nextStep: string;
  /** Facts behind it, for programs: counts, identifiers, times in seconds since the epoch. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>;
  /** Since when, ms since the epoch. */
  readonly sinceMs: number;
  /** When it was last found to be so, ms since the epoch. */
  readonly lastSeenMs: number;
}

/** A condition as the part that finds it knows it; times are kept by the list that it enters. */
export type FoundCondition = Omit<Condition, 'status' | 'sinceMs' | 'lastSeenMs'> &
  Partial<Pick<Condition, 'status' | 'sinceMs' | 'lastSeenMs'>>;
