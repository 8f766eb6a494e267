import { expect, it } from 'vitest';
import { TAGS } from '../test/support/daemon.js';
import { asKeys, ATTEMPT_KEY, carries, instanceName, tagsIn, tagsOf } from './ownership.js';

it('stores tags under user.nodepool and finds them again', () => {
  const keys = asKeys(TAGS);

  expect(Object.keys(keys)).toContain('user.nodepool.database_id');
  expect(tagsIn({ ...keys, [ATTEMPT_KEY]: 'a', 'limits.cpu': '2' })).toEqual(TAGS);
  expect(carries(tagsIn(keys), TAGS)).toBe(true);
  expect(carries(tagsIn(keys), { ...TAGS, nodepool_node_id: '2' })).toBe(false);
});

it('takes a copy that a user has made of a node for foreign, by its name', () => {
  const config = asKeys(TAGS);

  expect(tagsOf({ name: instanceName('np0000000001', TAGS), config })).toEqual(TAGS);
  for (const name of ['golden', 'np0000000002-aaaaaa', 'np0000000001-aaaaaa-copy']) {
    expect(tagsOf({ name, config })).toEqual({});
  }
});

it('names instances of different databases and providers differently', () => {
  const names = [TAGS, { ...TAGS, nodepool_database_id: 'other' }, { ...TAGS, nodepool_provider_name: 'other' }].map(
    (tags) => instanceName('np0000000001', tags),
  );

  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(name).toMatch(/^np0000000001-[0-9a-f]{6}$/);
});
