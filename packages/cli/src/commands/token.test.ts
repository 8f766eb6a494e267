import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { readTokenKey, tokenKeyFile } from '@nodepool/core/config';
import {
  decodeLeaseToken,
  isSignedLeaseToken,
  LEASE_TOKENS_ROOT,
  leaseSlotsPath,
  leaseTokenPath,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call('token', ...argv);

async function stored(name: string) {
  const { data, stat } = await get().zk.getData(leaseTokenPath(name));
  return decodeLeaseToken(name, data, stat);
}

describe('nodepool token create', () => {
  it('prints the token once, and stores its hash with what it allows', async () => {
    const options = [
      '--owner',
      'team',
      '--label',
      'small',
      '--label',
      'ubuntu-*',
      '--max-ttl',
      '2h',
      '--max-nodes',
      '3',
    ];
    const { status, stdout } = await call('create', 'ci', ...options, '--tenant', 't', '--priority', 'high');

    const [name, secret = ''] = stdout.trim().split('.');
    expect([status, name]).toEqual([0, 'ci']);
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(await stored('ci')).toMatchObject({
      ...{ hash: createHash('sha256').update(secret).digest('hex'), owner: 'team', labels: ['small', 'ubuntu-*'] },
      ...{ maxTtlMs: 7_200_000, maxNodes: 3, tenantName: 't', highestPriority: 100, admin: false, endTimeMs: null },
    });
    expect(await get().zk.exists(leaseSlotsPath('ci'))).toBeDefined();
  });

  it('allows all labels, eight hours and normal priority unless told otherwise', async () => {
    await call('create', 'ci', '--expires-in', '1h', '--admin');

    const token = await stored('ci');
    expect(token).toMatchObject({ owner: 'ci', labels: ['*'], maxTtlMs: 28_800_000, maxNodes: null, admin: true });
    expect((token?.endTimeMs ?? 0) - (token?.createdTimeMs ?? 0)).toBe(3_600_000);
  });

  it('makes no token whose owner looks like a user without one', async () => {
    const { status, stderr } = await call('create', 'ci', '--owner', 'uid:1000@nl01');

    expect(status).toBe(2);
    expect(stderr).toContain('names that begin with uid: are those of users without a token');
  });

  it('does not replace a token', async () => {
    await call('create', 'ci');
    const before = await stored('ci');

    const { status, stderr } = await call('create', 'ci');

    expect(status).toBe(1);
    expect(stderr).toContain('There is a token "ci" already; to replace it: nodepool token revoke ci');
    expect(await stored('ci')).toEqual(before);
  });

  it('writes the token to a new file for its owner alone, and prints it nowhere', async () => {
    const file = get().file('token');

    const { status, stdout, stderr } = await call('create', 'ci', '--output', file);

    const [name, secret = ''] = readFileSync(file, 'utf8').trimEnd().split('.');
    expect([status, name, stdout]).toEqual([0, 'ci', '']);
    expect(stderr).toBe(`The token ci is in ${file}, which only you can read\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await stored('ci'))?.hash).toBe(createHash('sha256').update(secret).digest('hex'));
    rmSync(file);
  });

  it('overwrites no file, and leaves none for a token that it could not create', async () => {
    const file = get().file('token');
    await call('create', 'ci');
    expect(await call('create', 'ci', '--output', file)).toMatchObject({ status: 1, stdout: '' });
    expect(existsSync(file)).toBe(false);

    await get().write('token', 'other');
    const { status, stderr } = await call('create', 'new', '--output', file);

    expect([status, stderr]).toEqual([1, `nodepool: ${file} exists: remove it, or name another file with --output\n`]);
    expect(readFileSync(file, 'utf8')).toBe('other');
    expect(await get().zk.exists(leaseTokenPath('new'))).toBeUndefined();
    rmSync(file);
    const nowhere = await call('create', 'new', '--output', get().file('none/token'));
    expect(nowhere.stderr).toMatch(/^nodepool: Cannot write .*none\/token: ENOENT/);
  });

  it('signs the record with the key of the launcher in the state directory, or the first of the secure file', async () => {
    await call('create', 'ci');
    const own = await readTokenKey(get().file('state'));
    const configured = 'k'.repeat(32);
    await get().write('secure.yaml', `token-keys: [${configured}, ${'o'.repeat(32)}]\n`);
    await call('create', 'other', '-s', get().file('secure.yaml'));

    const [ci, other] = [await stored('ci'), await stored('other')];
    expect(ci && isSignedLeaseToken(ci, [own])).toBe(true);
    expect(other && isSignedLeaseToken(other, [configured])).toBe(true);
    rmSync(get().file('secure.yaml'));
  });

  it('makes no token without the key, and says who has it, or how it is made', async () => {
    const file = tokenKeyFile(get().file('state'));
    const key = readFileSync(file);
    rmSync(file);
    const { status, stderr } = await call('create', 'ci');
    await get().write('state/lease-token.key', key.toString());

    expect([status, stderr]).toMatchObject([1, expect.stringContaining('the launcher makes it at its start')]);
    await get().write('ensemble.yaml', 'zookeeper-servers: [{host: 127.0.0.1, port: 1}]\n');
    const ensemble = await get().nodepool('ensemble.yaml', 'token', 'create', 'ci');
    expect(ensemble.stderr).toMatch(/token-keys.*-s; to make one: printf .*openssl rand -hex 32/);
    expect(await get().zk.exists(LEASE_TOKENS_ROOT)).toBeUndefined();
  });

  it('refuses names of callers that have no record: their leases are not those of the token', async () => {
    await get().write('secure.yaml', `api-tokens: [{name: ops, token: ${'t'.repeat(32)}}]\n`);

    for (const name of ['anonymous', 'ops']) {
      const { status, stderr } = await call('create', name, '-s', get().file('secure.yaml'));
      expect([status, stderr]).toEqual([1, expect.stringContaining(`"${name}" is the name of another kind of caller`)]);
    }
    rmSync(get().file('secure.yaml'));
  });

  it.each([
    [['create'], 'token create needs a name'],
    [['create', 'Alice'], '"Alice" is no name of a token'],
    [['create', 'ci', '--max-nodes', '0'], '--max-nodes needs a whole number above 0'],
    [['create', 'ci', '--max-ttl', '0s'], '--max-ttl needs a time above 0'],
    [['create', 'ci', '--expires-in', '0s'], '--expires-in needs a time above 0'],
    [['make', 'ci'], 'create'],
  ])('refuses %j', async (argv, text) => {
    const { status, stderr } = await call(...argv);

    expect(status).toBe(2);
    expect(stderr).toContain(text);
    expect(await get().zk.exists(LEASE_TOKENS_ROOT)).toBeUndefined();
  });
});

it('nodepool token revoke removes a token, and says when there is none', async () => {
  await call('create', 'ci');

  expect((await call('revoke', 'ci')).status).toBe(0);
  expect(await get().zk.exists(leaseTokenPath('ci'))).toBeUndefined();
  expect(await call('revoke', 'ci')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('no token') as string,
  });
});
