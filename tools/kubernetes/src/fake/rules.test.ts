import { describe, expect, it } from 'vitest';
import { isAllowed, reviewOf, rulesBeyond, type FakeRule } from './rules.js';

const RBAC = 'rbac.authorization.k8s.io';
const pods: FakeRule = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };

describe('the rules of an account', () => {
  it('allow what they name, and the reviews of every user', () => {
    expect(isAllowed([pods], 'list', 'pods')).toBe(true);
    expect(isAllowed([pods], 'create', 'pods')).toBe(false);
    expect(isAllowed([pods], 'get', 'pods/log')).toBe(false);
    expect(isAllowed([], 'create', 'selfsubjectrulesreviews')).toBe(true);
    expect(isAllowed(undefined, 'delete', 'namespaces'), 'without rules').toBe(true);
  });

  it('are all in a review, which is incomplete where something else refuses', () => {
    expect(reviewOf([pods], false)).toMatchObject({ status: { incomplete: false } });
    expect(JSON.stringify(reviewOf([pods], false))).toContain(JSON.stringify(pods));
    expect(reviewOf(undefined, true)).toMatchObject({ status: { incomplete: true } });
  });
});

describe('a role', () => {
  const role: FakeRule = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create'] };

  it('has what its creator lacks, unless that may give anything', () => {
    expect(rulesBeyond([role], [pods])).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }]);
    expect(rulesBeyond([role], [{ apiGroups: [RBAC], resources: ['roles'], verbs: ['escalate'] }])).toEqual([]);
    expect(rulesBeyond([role], undefined)).toEqual([]);
  });
});
