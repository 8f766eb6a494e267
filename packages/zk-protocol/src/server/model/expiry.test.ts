import { expect, it } from 'vitest';
import { createRequest, ModelDriver, OPEN } from '../../../test/server/model-driver.js';
import { ServerModel } from './server-model.js';

it.each([60_000, -60_000])('does not depend on the time of day being set by %i ms', (stepMs) => {
  const driver = new ModelDriver(new ServerModel({ containerGraceMs: 10_000, maxSessionTimeoutMs: 100_000 }));
  const owner = driver.connect(10_000);
  const other = driver.connect(100_000);
  driver.apply(owner, createRequest('/e', 1));
  driver.apply(other, { op: 'createTtl', path: '/t', data: null, acl: OPEN, flags: 5, ttlMs: 10_000 });
  driver.apply(other, { op: 'createContainer', path: '/c', data: null, acl: OPEN, flags: 4 });
  driver.apply(other, createRequest('/c/x'), { op: 'delete', path: '/c/x', version: -1 });

  driver.stepMs = stepMs;
  const written = driver.apply(other, { op: 'setData', path: '/t', data: null, version: -1 });
  const early = driver.advance(9_999);
  const ended = driver.advance(2).flatMap(({ transaction }) => transaction?.changes ?? []);

  expect(written.reply.body).toMatchObject({ stat: { mtime: 1_000_000 + stepMs } });
  expect(early).toEqual([]);
  expect(ended.map((change) => ('path' in change ? change.path : change.change)).sort()).toEqual(
    ['/c', '/e', '/t', 'closeSession'].sort(),
  );
});

it('deletes expired TTL znodes, and containers some time after they became empty', () => {
  const driver = new ModelDriver(new ServerModel({ containerGraceMs: 30_000, maxSessionTimeoutMs: 1_000_000 }));
  const client = driver.connect(1_000_000);
  driver.apply(client, { op: 'createTtl', path: '/t', data: null, acl: OPEN, flags: 5, ttlMs: 10_000 });
  driver.apply(client, { op: 'createContainer', path: '/c', data: null, acl: OPEN, flags: 4 });
  driver.apply(client, createRequest('/c/x'), { op: 'delete', path: '/c/x', version: -1 });
  const deleted = (ms: number) => driver.advance(ms).flatMap(({ transaction }) => transaction?.changes ?? []);

  expect(driver.model.nextDeadlineMs()).toBe(driver.nowMs + 10_001);
  expect(deleted(10_000)).toEqual([]);
  expect(deleted(1)).toEqual([{ change: 'delete', path: '/t' }]);
  expect(deleted(19_998)).toEqual([]);
  expect(deleted(1)).toEqual([{ change: 'delete', path: '/c' }]);
});
