import type { Condition, ConditionSeverity } from '../contract/condition.js';
import { ERROR_REASONS, type ErrorReason } from './error-reason.js';

/** A condition, and those that end with it. */
export interface FoldedCondition<T extends Condition = Condition> {
  readonly condition: T;
  readonly follows: readonly T[];
  /** The worst of all of them. */
  readonly severity: ConditionSeverity;
}

/** What is wrong with the API of a cloud, the plainest first. */
const OF_PROVIDERS = ['LoginRefused', 'NotStarted', 'CallsUnanswered', 'LaunchesFail'];
/** Further conditions of a provider that its API causes. */
const OF_CALLS = new Set(['SlowLaunches', 'ZoneSilent', 'CallsPaused', 'ResourcesLeaked']);
/** Classes of errors of an API as a whole: one cause shows as several of them. */
const OF_API: ReadonlySet<string> = new Set<ErrorReason>([
  ...(['Unauthorized', 'Forbidden', 'RateLimited', 'Timeout', 'Unreachable', 'Unavailable'] as const),
]);
/** What does not get on, or fails for a reason without a class, while an API fails as a whole. */
const OF_HANGS: ReadonlySet<string> = new Set(['DeletionTakesLong StillInCloud', 'UploadFails Error']);
/** Why a label is not served, if that follows from its provider, or from the label in it. */
const BY_PROVIDER: ReadonlySet<string> = new Set(['ProviderFails', 'ProviderNotStarted']);
const BY_LABEL: ReadonlySet<string> = new Set(['LabelUnavailable', 'ImageMissing', 'LabelFails']);

/** Conditions of images that a builder would end. */
const OF_BUILDERS: ReadonlySet<string> = new Set(['OldBuild NotRebuilt', 'NoReadyBuild NeverBuilt']);

/** Puts conditions that follow from one cause under it, in the order of the list, groups with an error first. No condition is lost. */
export function foldConditions<T extends Condition>(all: readonly T[]): FoldedCondition<T>[] {
  const followers = new Map<T, T[]>(all.map((condition) => [condition, []]));
  const roots = all.filter((condition) => {
    const cause = firstCause(condition, all);
    if (cause) followers.get(cause)?.push(condition);
    return cause === undefined;
  });
  const groups = roots.map((condition): FoldedCondition<T> => {
    const follows = followers.get(condition) ?? [];
    const isError = [condition, ...follows].some(({ severity }) => severity === 'error');
    return { condition, follows, severity: isError ? 'error' : 'warning' };
  });
  return [
    ...groups.filter(({ severity }) => severity === 'error'),
    ...groups.filter(({ severity }) => severity !== 'error'),
  ];
}

/** The cause of the cause, and so on. A cause is of another kind or a plainer type than what follows from it, so there is an end. */
function firstCause<T extends Condition>(condition: T, all: readonly T[]): T | undefined {
  const cause = causeOf(condition, all);
  return cause && (firstCause(cause, all) ?? cause);
}

function causeOf<T extends Condition>(condition: T, all: readonly T[]): T | undefined {
  const { kind, name, type, reason, evidence } = condition;
  const ofProvider = (provider: unknown) => all.find((other) => isPlainest(other, provider, all));
  const ofLabel = (...types: string[]) =>
    all.find(
      (other) =>
        types.includes(other.type) &&
        other.evidence['label'] === name &&
        (evidence['onlyProvider'] ?? other.evidence['provider']) === other.evidence['provider'],
    );
  if (kind === 'provider') {
    const cause = OF_PROVIDERS.includes(type) || OF_CALLS.has(type) ? ofProvider(name) : undefined;
    return cause === condition ? undefined : cause;
  }
  if (type === 'DeletionFails') return OF_API.has(reason) ? ofProvider(evidence['provider']) : undefined;
  if (type === 'LabelLaunchesFail') {
    const isSame = ({ provider, label }: Condition['evidence']) =>
      provider === evidence['provider'] && label === evidence['label'];
    const unusable = all.find((other) => other.type === 'LabelUnusable' && isSame(other.evidence));
    return unusable ?? (OF_API.has(reason) ? ofProvider(evidence['provider']) : undefined);
  }
  if (OF_HANGS.has(`${type} ${reason}`)) {
    const cause = ofProvider(evidence['provider']);
    return cause && isOfApi(cause) ? cause : undefined;
  }
  if (type === 'StandbyMissing') {
    return all.find((other) => other.type === 'NotServed' && other.name === name) ?? ofLabel('LabelLaunchesFail');
  }
  if (OF_BUILDERS.has(`${type} ${reason}`)) return all.find((other) => other.type === 'NoBuilder');
  if (type !== 'NotServed') return undefined;
  const cause = BY_PROVIDER.has(reason) ? ofProvider(evidence['onlyProvider']) : failedUpload(condition, all);
  return cause ?? (BY_LABEL.has(reason) ? ofLabel('LabelUnusable', 'LabelLaunchesFail') : undefined);
}

/** The upload that fails of the image that a label lacks. */
function failedUpload<T extends Condition>({ reason, name, evidence }: T, all: readonly T[]): T | undefined {
  if (reason !== 'ImageMissing') return undefined;
  return all.find(
    ({ type, evidence: of }) =>
      type === 'UploadFails' &&
      of['provider'] === evidence['onlyProvider'] &&
      String(of['labels']).split(',').includes(name),
  );
}

/** Whether a condition tells best what is wrong with the API of a provider. */
function isPlainest(condition: Condition, provider: unknown, all: readonly Condition[]): boolean {
  const rank = ({ kind, name, type, reason, status }: Condition) => {
    if (kind !== 'provider' || name !== provider || status !== 'true') return Infinity;
    if (!isOfApi({ type, reason })) return OF_PROVIDERS.length;
    const at = OF_PROVIDERS.indexOf(type);
    return at < 0 ? Infinity : at;
  };
  const own = rank(condition);
  return own < Infinity && all.every((other) => rank(other) >= own);
}

/** Launches that fail for the instance or the quota have another cause than calls that fail. */
function isOfApi({ type, reason }: Pick<Condition, 'type' | 'reason'>): boolean {
  return type !== 'LaunchesFail' || !(reason in ERROR_REASONS) || OF_API.has(reason);
}
