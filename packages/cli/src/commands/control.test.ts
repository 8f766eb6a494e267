import { hostname, userInfo } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { controlPath, decodeControl, encodeControl, newControl, type ControlSubject } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const SELF = `${userInfo().username}@${hostname()}`;
const RACK: ControlSubject = { kind: 'provider', name: 'rack' };

beforeEach(() => get().registerRack(['small']));

const call = (...argv: string[]) => get().call(...argv);

async function read(subject: ControlSubject) {
  const { data, stat } = await get().zk.getData(controlPath(subject));
  return decodeControl(`${subject.kind}/${subject.name}`, data, stat);
}

describe('nodepool provider, pool, label and image', () => {
  it('write an order with owner, reason and end', async () => {
    const before = Date.now();

    const { status, stdout, stderr } = await call('provider', 'pause', 'rack', '--for', '2h', '--reason', 'power cut');

    const control = await read(RACK);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Provider rack is paused by \S+ until 20\S+Z: power cut\n$/);
    expect(control).toMatchObject({ mode: 'pause', limit: null, owner: SELF, reason: 'power cut' });
    expect(control?.endTimeMs).toBeGreaterThanOrEqual(before + 2 * 3_600_000);
  });

  it('replace one order by the next, and take it back', async () => {
    await call('provider', 'pause', 'rack');

    const limited = await call('provider', 'limit', 'rack', '7', '--owner', 'alice');
    const listed = await call('controls', '--json', '--fields', 'kind,name,mode,limit,owner,until');
    const resumed = await call('provider', 'resume', 'rack');

    expect(limited.stdout).toBe('Provider rack is limited to 7 by alice\n');
    expect(JSON.parse(listed.stdout)).toEqual([
      { kind: 'provider', name: 'rack', mode: 'limit', limit: 7, owner: 'alice', until: null },
    ]);
    expect(resumed.stdout).toBe('Provider rack is back in service\n');
    expect((await call('controls', '--no-headers')).stdout).toBe('');
  });

  it('name pools by their provider, and anything by any name', async () => {
    const known = await call('pool', 'drain', 'rack/main');
    const odd = await call('label', 'pause', 'a/b %', '--force');

    expect(known).toMatchObject({ status: 0, stderr: '', stdout: `Pool rack/main is drained by ${SELF}\n` });
    expect(odd).toMatchObject({ status: 0, stderr: '' });
    expect((await call('controls', '--no-headers', '--fields', 'kind,name')).stdout).toBe(
      'pool   rack/main\nlabel  a/b %\n',
    );
  });

  it('show nothing whose time has ended', async () => {
    await get().zk.ensurePath('/nodepool/controls/provider');
    const nowMs = Date.now();
    const ended = newControl({ ...RACK, mode: 'pause', owner: 'alice', endTimeMs: nowMs - 1 }, nowMs - 1_000);
    await get().zk.create(controlPath(RACK), encodeControl(ended));

    expect((await call('controls', '--no-headers')).stdout).toBe('');
  });

  it('say that there is nothing to resume, with status 0, or 1 when strict', async () => {
    const text = 'Provider rack is neither paused nor limited';

    expect(await call('provider', 'resume', 'rack')).toMatchObject({ status: 0, stdout: `${text}\n` });
    expect(await call('provider', 'resume', 'rack', '--strict')).toMatchObject({ status: 1 });
  });

  it.each([
    [['provider', 'pause', 'rak'], 'has the provider rak, did you mean rack?'],
    [['provider', 'resume', 'rak'], 'has the provider rak, did you mean rack?'],
    [['pool', 'drain', 'rack/mian'], 'has the pool rack/mian, did you mean rack/main?'],
    [['label', 'limit', 'huge', '3'], 'has the label huge; known are small.'],
    [['image', 'pause', 'debian'], 'has the image debian. Use --force'],
  ])('refuse a name that is not known: %j', async (argv, message) => {
    expect(await call(...argv)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) as string });
    expect((await call('controls', '--no-headers')).stdout).toBe('');
  });

  it('know what only the configuration has', async () => {
    const provider = { name: 'sky', driver: 'any', pools: [{ name: 'main' }] };
    await get().write('more.yaml', JSON.stringify({ providers: [provider], diskimages: [{ name: 'debian' }] }));

    for (const argv of [
      ['provider', 'pause', 'sky'],
      ['pool', 'pause', 'sky/main'],
      ['image', 'pause', 'debian'],
    ]) {
      expect(await get().nodepool('more.yaml', ...argv)).toMatchObject({ status: 0, stderr: '' });
    }
  });

  it.each([
    [['provider', 'stop', 'rack'], /action/],
    [['pool', 'pause', 'main'], /a pool is named PROVIDER\/POOL, got "main"/],
    [['pool', 'limit', 'rack/main'], /limit needs a number of nodes/],
    [['provider', 'limit', 'rack', 'many'], /limit needs a number of nodes/],
    [['label', 'limit', 'small'], /limit needs a number of nodes/],
    [['label', 'limit', 'small', '9'.repeat(400)], /limit needs a number of nodes/],
    [['image', 'halve', 'debian'], /action/],
    [['provider', 'pause', 'rack', '3'], /pause takes no number, got "3"/],
    [['image', 'pause', 'debian', '--for', 'night'], /--for needs a duration/],
  ])('do not understand %j', async (argv, message) => {
    const { status, stderr } = await call(...argv);

    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });
});
