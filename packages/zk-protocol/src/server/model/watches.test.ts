import { expect, it } from 'vitest';
import { createRequest, ModelDriver } from '../../../test/server/model-driver.js';

const CREATED = 1;
const DELETED = 2;
const CHANGED = 3;
const CHILDREN = 4;

it('fires one-shot watches once, persistent ones always, recursive ones for descendants but not for lists of children', () => {
  const driver = new ModelDriver();
  const writer = driver.connect();
  const [oneShot, persistent, recursive] = [driver.connect(), driver.connect(), driver.connect()];
  driver.apply(writer, createRequest('/a'));
  driver.apply(oneShot, { op: 'getChildren', path: '/a', watch: true });
  driver.apply(persistent, { op: 'addWatch', path: '/a', mode: 'persistent' });
  driver.apply(recursive, { op: 'addWatch', path: '/a', mode: 'persistent-recursive' });
  const seen = (events: { to: unknown; type: number; path: string }[], to: unknown) =>
    events.filter((event) => event.to === to).map(({ type, path }) => `${type} ${path}`);

  const create = driver.apply(writer, createRequest('/a/b')).events;
  const set = driver.apply(writer, { op: 'setData', path: '/a/b', data: null, version: -1 }).events;
  const remove = driver.apply(writer, { op: 'delete', path: '/a/b', version: -1 }).events;

  expect([create, set, remove].map((events) => seen(events, oneShot))).toEqual([[`${CHILDREN} /a`], [], []]);
  expect([create, set, remove].map((events) => seen(events, persistent))).toEqual([
    [`${CHILDREN} /a`],
    [],
    [`${CHILDREN} /a`],
  ]);
  expect([create, set, remove].map((events) => seen(events, recursive))).toEqual([
    [`${CREATED} /a/b`],
    [`${CHANGED} /a/b`],
    [`${DELETED} /a/b`],
  ]);
});
