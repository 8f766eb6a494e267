import {
  CONDITION_KINDS,
  newCondition,
  type Condition,
  type FoundCondition,
  type ConditionTypes,
} from '../contract/condition.js';

/** What a list of conditions says of itself. */
export const CONDITIONS = {
  ConditionsLeftOut: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'a service has more conditions than its registry entry holds',
    reasons: { TooMany: 'the message has the number' },
    nextStep: 'resolve the conditions that are shown',
  },
} as const satisfies ConditionTypes;

/** A registry entry is limited to one megabyte; the condition `ConditionsLeftOut` reports omissions. */
const MOST_CONDITIONS = 100;
const LONGEST_MESSAGE = 500;

/** How a list differs from the one before. */
export interface ConditionChange {
  readonly began: readonly Condition[];
  readonly ended: readonly Condition[];
  /** Something but `lastSeenMs` is different. */
  readonly hasChanged: boolean;
}

/** What is wrong with a service now. Each look replaces all of it, so that a condition ends with its cause. */
export class ConditionList {
  #conditions: ReadonlyMap<string, Condition> = new Map();

  /** Errors first. */
  get all(): readonly Condition[] {
    return [...this.#conditions.values()];
  }

  /** Takes what was found at a look over; what is there already keeps the time since when it is. */
  update(look: readonly FoundCondition[], nowMs: number, owner = ''): ConditionChange {
    const before = this.#conditions;
    const entries = firstOfEach(withinLimits(look, owner)).map(([key, condition]) => {
      const known = before.get(key);
      const sinceMs = condition.sinceMs ?? known?.sinceMs ?? nowMs;
      return [
        key,
        { ...condition, status: condition.status ?? 'true', sinceMs, lastSeenMs: condition.lastSeenMs ?? nowMs },
      ] as const;
    });
    const after = new Map<string, Condition>(entries);
    this.#conditions = after;
    const began = [...after].filter(([key]) => !before.has(key)).map(([, condition]) => condition);
    const ended = [...before].filter(([key]) => !after.has(key)).map(([, condition]) => condition);
    const hasOther = [...after].some(([key, condition]) => textOf(condition) !== textOf(before.get(key)));
    return { began, ended, hasChanged: hasOther || ended.length > 0 };
  }
}

/** What makes two conditions the same one. */
export function conditionKey({ kind, name, type }: Pick<Condition, 'kind' | 'name' | 'type'>): string {
  return `${kind} ${name} ${type}`;
}

/** What does not work before what is not as it should be; then from the whole service to the single node. */
export function compareConditions(a: FoundCondition, b: FoundCondition): number {
  return rankOf(a) - rankOf(b) || (conditionKey(a) < conditionKey(b) ? -1 : 1);
}

function rankOf({ severity, kind }: FoundCondition): number {
  return (severity === 'error' ? 0 : CONDITION_KINDS.length + 1) + (CONDITION_KINDS.indexOf(kind) + 1);
}

function firstOfEach(look: readonly FoundCondition[]): [string, FoundCondition][] {
  const byKey = new Map<string, FoundCondition>();
  for (const condition of look) {
    const key = conditionKey(condition);
    if (!byKey.has(key)) byKey.set(key, condition);
  }
  return [...byKey];
}

function withinLimits(look: readonly FoundCondition[], owner: string): FoundCondition[] {
  const sorted = look.map((each) => ({ ...each, message: cut(each.message) })).sort(compareConditions);
  const more = sorted.length - MOST_CONDITIONS;
  if (more <= 0) return sorted;
  const leftOut = newCondition(CONDITIONS, 'ConditionsLeftOut', {
    ...{ name: owner, reason: 'TooMany', message: `${more + 1} further conditions are left out` },
    nextStep: 'remove the causes of those that are shown',
  });
  return [...sorted.slice(0, MOST_CONDITIONS - 1), leftOut];
}

function cut(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE - 1)}…`;
}

function textOf(condition: Condition | undefined): string {
  return JSON.stringify({ ...condition, lastSeenMs: 0 });
}
