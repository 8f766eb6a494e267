import { addIdentity } from './acl.js';
import { describe, expect, it } from 'vitest';
import { ErrorCode } from './constants.js';
import { contentOf, createRequest, ModelDriver, OPEN, randomWrite } from '../../../test/server/model-driver.js';
import { Random } from '../../../test/server/random.js';
import { ServerModel } from './server-model.js';

const CREATED = 1;
const DELETED = 2;
const CHANGED = 3;
const CHILDREN = 4;

describe('ServerModel', () => {
  it('numbers sequential znodes by the children ever created, whatever their names', () => {
    const driver = new ModelDriver();
    const client = driver.connect();
    driver.apply(client, createRequest('/q'), createRequest('/q/lock'), { op: 'delete', path: '/q/lock', version: -1 });

    const { reply } = driver.apply(client, createRequest('/q/n-', 2));

    expect(reply.body).toMatchObject({ kind: 'path-stat', path: '/q/n-0000000001' });
    expect(driver.apply(client, { op: 'exists', path: '/q', watch: false }).reply.body).toMatchObject({
      stat: { cversion: 3, numChildren: 1 },
    });
  });

  it('leaves no trace of a multi that fails halfway, and says which part it was', () => {
    const driver = new ModelDriver();
    const client = driver.connect();
    const watcher = driver.connect();
    driver.apply(client, createRequest('/a'));
    driver.apply(watcher, { op: 'addWatch', path: '/', mode: 'persistent-recursive' });
    const before = contentOf(driver.model);

    const { reply, events, transaction } = driver.apply(client, {
      op: 'multi',
      parts: [
        { op: 'create', path: '/a/b', data: null, acl: OPEN, flags: 0 },
        { op: 'setData', path: '/a/b', data: Buffer.from('x'), version: 0 },
        { op: 'delete', path: '/a/b', version: 1 },
        { op: 'check', path: '/a', version: 7 },
        { op: 'delete', path: '/a', version: -1 },
      ],
    });

    expect(reply.error).toBe(0);
    expect(reply.body).toEqual({
      kind: 'multi',
      results: [0, 0, 0, ErrorCode.badVersion, ErrorCode.runtimeInconsistency].map((error) => ({
        result: 'error',
        error,
      })),
    });
    expect(events).toEqual([]);
    expect(transaction?.changes).toEqual([]);
    expect(contentOf(driver.model)).toEqual({ ...(before as object), zxid: driver.model.lastZxid });
  });

  it('lets the parts of a multi see each other', () => {
    const driver = new ModelDriver();
    const client = driver.connect();

    const { reply } = driver.apply(client, {
      op: 'multi',
      parts: [
        { op: 'create', path: '/a', data: null, acl: OPEN, flags: 0 },
        { op: 'create', path: '/a/n', data: null, acl: OPEN, flags: 2 },
        { op: 'create', path: '/a/n', data: null, acl: OPEN, flags: 2 },
        { op: 'delete', path: '/a/n0000000000', version: -1 },
      ],
    });

    expect(reply.body).toMatchObject({
      results: [{ path: '/a' }, { path: '/a/n0000000000' }, { path: '/a/n0000000001' }, { result: 'delete' }],
    });
  });

  it('ends a session that is not heard of, with its ephemerals, and tells who watches', () => {
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

  it.each([60_000, -60_000])('ends nothing sooner or later because the time is set by %i ms', (stepMs) => {
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

  it('attaches only who knows the password, takes the session from the old connection and its watches with it', () => {
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

  it('tells one-shot watches once, persistent ones always, recursive ones about everything below but children lists', () => {
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

  it('gives no event to who may not read the znode', () => {
    const driver = new ModelDriver();
    const owner = driver.connect();
    const stranger = driver.connect();
    addIdentity(owner, 'digest', Buffer.from('ann:secret'));
    driver.apply(stranger, { op: 'addWatch', path: '/', mode: 'persistent-recursive' });

    const { events } = driver.apply(owner, {
      op: 'create',
      path: '/secret',
      data: null,
      acl: [{ permissions: 31, scheme: 'auth', id: '' }],
      flags: 0,
    });

    expect(events).toEqual([]);
    expect(driver.apply(stranger, { op: 'getData', path: '/secret', watch: false }).reply.error).toBe(ErrorCode.noAuth);
    expect(driver.apply(owner, { op: 'getData', path: '/secret', watch: false }).reply.error).toBe(0);
  });

  it('removes TTL znodes that are old, and containers some time after they became empty', () => {
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
