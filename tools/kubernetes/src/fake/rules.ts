const GROUPS: Readonly<Record<string, string>> = {
  ...{ roles: 'rbac.authorization.k8s.io', rolebindings: 'rbac.authorization.k8s.io' },
  selfsubjectrulesreviews: 'authorization.k8s.io',
  ...{ projects: 'project.openshift.io', projectrequests: 'project.openshift.io' },
};

/** API group of a kind; empty: the core. */
export const groupOf = (kind: string): string => GROUPS[kind] ?? '';

/** A rule of a role, for objects of any name. */
export interface FakeRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** What every user may do, as in a cluster with its usual roles. */
const EVERYBODY: FakeRule = {
  apiGroups: ['authorization.k8s.io'],
  resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  verbs: ['create'],
};

/** Whether rules allow a verb on a kind; all do if there are none. */
export function isAllowed(rules: readonly FakeRule[] | undefined, verb: string, what: string): boolean {
  return rules === undefined || holds([...rules, EVERYBODY], groupOf(what.split('/')[0] ?? ''), what, verb);
}

/** Whether the user may give roles that it does not hold. */
function mayEscalate(rules: readonly FakeRule[]): boolean {
  return holds(rules, 'rbac.authorization.k8s.io', 'roles', 'escalate');
}

/** What a role has and its creator has not: one rule for each resource. */
export function rulesBeyond(role: readonly FakeRule[], rules: readonly FakeRule[] | undefined): FakeRule[] {
  if (rules === undefined || mayEscalate(rules)) return [];
  return role.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => {
        const missing = verbs.filter((verb) => !holds(rules, group, resource, verb));
        return missing.length > 0 ? [{ apiGroups: [group], resources: [resource], verbs: missing }] : [];
      }),
    ),
  );
}

function holds(rules: readonly FakeRule[], group: string, resource: string, verb: string): boolean {
  const has = (list: readonly string[], one: string) => list.includes('*') || list.includes(one);
  return rules.some(
    ({ apiGroups, resources, verbs }) => has(apiGroups, group) && has(resources, resource) && has(verbs, verb),
  );
}
