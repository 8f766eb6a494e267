import { describe, expect, it } from 'vitest';
import { ErrorCode } from './constants.js';
import { contentOf, createRequest, ModelDriver, randomWrite } from '../../../test/server/model-driver.js';
import { Random } from '../../../test/server/random.js';
import { ServerModel } from './server-model.js';

const DELETED = 2;

describe('ServerModel', () => {
  it('ends a silent session with its ephemerals, and notifies watchers', () => {
    const driver = new ModelDriver();
    const owner = driver.connect(5000);
    const watcher = driver.connect(60_000);
    driver.apply(owner, createRequest('/e', 1));
    driver.apply(watcher, { op: 'exists', path: '/e', watch: true });

    driver.nowMs += 3000;
    driver.apply(owner, { op: 'ping' });
    const tooEarly = driver.advance(4999);
    const inTime = driver.advance(1);

    expect(tooEarly).toEqual([]);
    expect(inTime).toHaveLength(1);
    expect(inTime[0]?.events).toEqual([{ to: watcher, type: DELETED, path: '/e' }]);
    expect(driver.apply(owner, { op: 'ping' }).reply.error).toBe(ErrorCode.sessionExpired);
  });

  it('is in the same state after its transactions are replayed', () => {
    const driver = new ModelDriver();
    const random = new Random(7);
    const clients = [driver.connect(), driver.connect(), driver.connect()];
    for (let step = 0; step < 3000; step++) driver.apply(random.pick(clients), randomWrite(random));
    driver.apply(random.pick(clients), { op: 'closeSession' });

    const replayed = new ServerModel();
    for (const transaction of driver.transactions) replayed.replay(transaction);

    expect(contentOf(replayed)).toEqual(contentOf(driver.model));
  });
});
