import { describe, expect, it } from 'vitest';
import { allows, allowsSome, nameOf, narrowed } from './rules.js';

const right = (verb: string, resource: string, group = '') => ({ verb, resource, group });
const rule = (verbs: string[], resources: string[], apiGroups = ['']) => ({ verbs, resources, apiGroups });

describe('rules', () => {
  it.each([
    [rule(['get'], ['pods']), right('get', 'pods'), true],
    [rule(['get'], ['pods']), right('list', 'pods'), false],
    [rule(['get'], ['pods']), right('get', 'pods/log'), false],
    [rule(['*'], ['*'], ['*']), right('create', 'roles', 'rbac.authorization.k8s.io'), true],
    [rule(['*'], ['*']), right('create', 'roles', 'rbac.authorization.k8s.io'), false],
    [rule(['get'], ['*/log']), right('get', 'pods/log'), true],
    [{ ...rule(['get'], ['pods']), resourceNames: ['a'] }, right('get', 'pods'), false],
  ])('%j allow %j: %s', (one, wanted, isAllowed) => {
    expect(allows([one], wanted)).toBe(isAllowed);
  });

  it('for objects of certain names allow some', () => {
    expect(allowsSome([{ ...rule(['get'], ['pods']), resourceNames: ['a'] }], right('get', 'pods'))).toBe(true);
  });

  it('have names with their group', () => {
    expect([nameOf(right('get', 'pods/log')), nameOf(right('create', 'jobs', 'batch'))]).toEqual([
      'get pods/log',
      'create jobs.batch',
    ]);
  });
});

it('a role keeps what its creator holds, and says what it loses', () => {
  const held = [rule(['get', 'list'], ['pods', 'secrets']), rule(['*'], ['deployments'], ['apps'])];
  const role = [rule(['get', 'delete'], ['pods', 'events']), rule(['create'], ['deployments'], ['apps'])];

  expect(narrowed(role, held)).toEqual({
    rules: [rule(['get'], ['pods']), rule(['create'], ['deployments'], ['apps'])],
    lost: ['delete on pods', 'get, delete on events'],
  });
  expect(narrowed(role, [])).toMatchObject({ rules: [] });
});
