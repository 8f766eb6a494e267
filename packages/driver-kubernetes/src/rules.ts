import type { JsonObject } from '@nodepool/core';
import type { ApiRule } from './api.js';

/** A verb on a resource of an API group, such as `create` on `pods/exec` of ``. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** As people write it: `create pods/exec`, `create roles.rbac.authorization.k8s.io`. */
export function nameOf({ verb, group, resource }: Right): string {
  return `${verb} ${resource}${group && `.${group}`}`;
}

/** Whether rules allow something whatever its name is. Rules for objects of certain names do not. */
export function allows(rules: readonly ApiRule[], { verb, group, resource }: Right): boolean {
  return rules.some(
    ({ verbs = [], apiGroups = [], resources = [], resourceNames = [] }) =>
      resourceNames.length === 0 &&
      hasOne(verbs, verb) &&
      hasOne(apiGroups, group) &&
      (hasOne(resources, resource) ||
        (resource.includes('/') && resources.includes(`*/${resource.split('/')[1] ?? ''}`))),
  );
}

/** Whether rules allow something at least for objects of certain names. */
export function allowsSome(rules: readonly ApiRule[], right: Right): boolean {
  return allows(
    rules.map((rule) => ({ ...rule, resourceNames: [] })),
    right,
  );
}

function hasOne(list: readonly string[], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted);
}

/** Rules of a role without what others do not hold, and what that is. */
export interface Narrowed {
  readonly rules: readonly JsonObject[];
  /** By resource: `create, delete on events`. */
  readonly lost: readonly string[];
}

/** Leaves out of the rules of a role what an account may not give that holds only these. */
export function narrowed(rules: readonly JsonObject[], held: readonly ApiRule[]): Narrowed {
  const kept: JsonObject[] = [];
  const lost: string[] = [];
  for (const { verbs = [], apiGroups = [], resources = [] } of rules as unknown as ApiRule[]) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        const [given, missing] = [true, false].map((isHeld) =>
          verbs.filter((verb) => allows(held, { verb, group, resource }) === isHeld),
        ) as [string[], string[]];
        if (given.length > 0) kept.push({ apiGroups: [group], resources: [resource], verbs: given });
        if (missing.length > 0) lost.push(`${missing.join(', ')} on ${resource}`);
      }
    }
  }
  return { rules: kept, lost };
}
