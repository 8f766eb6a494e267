import { expect, it } from 'vitest';
import { createRequest, ModelDriver } from '../../../test/server/model-driver.js';
import { SessionTable } from './sessions.js';
import { ErrorCode } from './constants.js';

it('attaches a client with the right password, and detaches its old connection with its watches', () => {
  const driver = new ModelDriver();
  const old = driver.connect();
  const other = driver.connect();
  driver.apply(old, { op: 'addWatch', path: '/', mode: 'persistent-recursive' });
  const session = driver.model.sessions.get(old.sessionId);
  const replacement = { sessionId: 0n, auth: [] };

  const refused = driver.model.attach(
    replacement,
    { sessionId: old.sessionId, password: Buffer.alloc(16, 9) },
    driver.now,
  );
  const attached = driver.model.attach(
    replacement,
    { sessionId: old.sessionId, password: session?.password ?? Buffer.alloc(0) },
    driver.now,
  );

  expect(refused).toBeUndefined();
  expect(attached?.replaced).toBe(old);
  expect(driver.apply(other, createRequest('/x')).events).toEqual([]);
  expect(driver.apply(old, { op: 'ping' }).reply.error).toBe(ErrorCode.sessionExpired);
  expect(driver.apply(replacement, { op: 'ping' }).reply.error).toBe(0);
});

function tableWith(...timeouts: number[]): SessionTable {
  const table = new SessionTable();
  timeouts.forEach((timeoutMs, index) =>
    table.add({
      id: BigInt(index + 1),
      timeoutMs,
      password: Buffer.alloc(16),
      expiresAtMs: timeoutMs,
      connection: undefined,
    }),
  );
  return table;
}

it('never gives out an id twice, even if the time is set back', () => {
  const table = new SessionTable();

  const ids = [5000, 5000, 1000, 6000].map((wallMs) => table.takeId(wallMs));

  expect(new Set(ids).size).toBe(4);
  expect(ids).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)));
});

it('lists expired sessions, the longest overdue first', () => {
  const table = tableWith(300, 100, 200, 400);

  expect(table.expired(300).map(({ id }) => id)).toEqual([2n, 3n, 1n]);
  expect(table.nextExpiryMs()).toBe(100);
});

it('extends sessions by a pause, but not beyond their full timeout', () => {
  const table = tableWith(1000, 5000);

  table.prolong(2000.5, 900);

  expect([...table.values()].map(({ expiresAtMs }) => expiresAtMs)).toEqual([1900, 5900]);
});

it('gives every session its full timeout after a restart', () => {
  const table = tableWith(1000, 5000);

  table.restart(10_000);

  expect(table.nextExpiryMs()).toBe(11_000);
  expect(() => table.existing(9n)).toThrow('session 0x9 should exist');
});
