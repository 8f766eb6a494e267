const GROUPS: Readonly<Record<string, string>> = {
  ...{ roles: 'rbac.authorization.k8s.io', rolebindings: 'rbac.authorization.k8s.io' },
  selfsubjectrulesreviews: 'authorization.k8s.io',
  ...{ projects: 'project.openshift.io', projectrequests: 'project.openshift.io' },
};

/** API group of a kind; empty: the core. */
export const groupOf = (kind: string): string => GROUPS[kind] ?? '';

/** A rule of a role. */
export interface FakeRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Only objects of these names. Shown in reviews; the fake server allows all names. */
  readonly resourceNames?: readonly string[];
}

/** What every user may do, as in a cluster with its usual roles. */
const EVERYBODY: FakeRule = {
  apiGroups: ['authorization.k8s.io'],
  resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  verbs: ['create'],
};

const EVERYTHING: FakeRule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
/** What every user may read besides objects. */
const DISCOVERY = { verbs: ['get'], nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/version'] };

/**
 * The answer to a review of one's own rules, as of kube-apiserver 1.20 and later.
 * @param isDenied - something is refused that no rule tells, as by an authorizer without rules
 */
export function reviewOf(rules: readonly FakeRule[] | undefined, isDenied: boolean): object {
  const status = {
    resourceRules: [...(rules ?? [EVERYTHING]), EVERYBODY],
    nonResourceRules: [DISCOVERY],
    incomplete: rules === undefined && isDenied,
  };
  return { kind: 'SelfSubjectRulesReview', apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec: {}, status };
}

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
