import { decodeLeaseToken, leaseTokenPath } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call('token', ...argv);

it('nodepool token list shows what tokens allow, without their hashes', async () => {
  expect((await call('list')).stdout).toContain('Name');
  await call('create', 'ci', '--max-nodes', '3');

  const { stdout } = await call('list');
  const hash = decodeLeaseToken('ci', (await get().zk.getData(leaseTokenPath('ci'))).data, undefined)?.hash;

  expect(stdout).toMatch(/\| ci +\| ci +\| \* +\| 0?0?:?0?8/);
  expect(stdout).not.toContain(hash);
});

it('nodepool token list shows which tokens give no rights, also among broken records, with the fix', async () => {
  await call('create', 'ci');
  await call('create', 'old', '--expires-in', '1s');
  const record = JSON.parse((await get().zk.getData(leaseTokenPath('ci'))).data.toString()) as object;
  await get().zk.create(leaseTokenPath('forged'), Buffer.from(JSON.stringify({ ...record, admin: true })));
  await get().zk.create(leaseTokenPath('broken'), Buffer.from('{'));

  const { status, stdout, stderr } = await call('list', '--format', 'json');

  expect(status).toBe(0);
  const rows = JSON.parse(stdout) as { name: string; state: string }[];
  expect(rows.map(({ name, state }) => [name, state])).toMatchObject([
    ['ci', 'valid'],
    ['forged', 'not signed'],
    ['old', expect.stringMatching(/valid|expired/)],
  ]);
  expect(stderr).toContain('To make it again: nodepool token revoke forged; nodepool token create forged');
  expect(stderr).toContain('broken is no token');
});

it('nodepool token list takes the options of listings, and the other actions refuse them', async () => {
  await call('create', 'ci', '--owner', 'team');

  expect(await call('list', '--no-headers', '--fields', 'name,owner')).toMatchObject({
    status: 0,
    stdout: 'ci  team\n',
  });
  for (const option of [['--watch'], ['--fields', 'name'], ['--no-headers']]) {
    const { status, stderr } = await call('revoke', 'ci', ...option);
    expect(status).toBe(2);
    expect(stderr).toContain(`${option[0]} is an option of token list, not of token revoke`);
  }
  expect((await call('list', '--no-headers', '--fields', 'name')).stdout).toBe('ci\n');
});
