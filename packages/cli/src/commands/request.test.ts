import { REQUESTS_ROOT } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { FakeLauncher } from '../../test/fake-launcher.js';
import { nodepoolUntil } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();

/** Requests a node, which a launcher hands out. @returns the node and the outcome */
async function request(...argv: string[]) {
  const id = await get().createNode({ hostKeys: ['ssh-ed25519 AAAA'], interfaceIp: '192.0.2.1' });
  const launcher = new FakeLauncher(get().zk);
  const [outcome] = await Promise.all([get().call('request', 'small', ...argv), launcher.fulfil([id])]);
  return { id, state: (await launcher.readNode(id)).state, ...outcome };
}

it('shows how to reach the node, and returns it when its time is up', async () => {
  const { id, state, status, stdout, stderr } = await request('--hold-for', '0.1s');

  expect([status, state]).toEqual([0, 'used']);
  expect(stdout).toBe(`small-1: node ${id} of rack\n  ssh -p 22 zuul@192.0.2.1\n  192.0.2.1 ssh-ed25519 AAAA\n`);
  expect(stderr).toContain('The nodes are yours for 0.1 s or until Ctrl-C\nReturning the nodes\n');
});

it('prints complete data for programs, and no progress with --quiet', async () => {
  const { id, stdout, stderr } = await request('--hold-for', '0.1s', '--quiet', '--json');

  expect(JSON.parse(stdout)).toMatchObject({ nodes: [{ id, name: 'small-1', label: 'small', ip: '192.0.2.1' }] });
  expect(stderr).toBe('');
});

it('waits for more than the 24 days that Node.js can wait in one go', async () => {
  expect(await request('--timeout', '30d', '--hold-for', '0.1s')).toMatchObject({ status: 0, state: 'used' });
});

it('returns the node on Ctrl-C, with status 0', async () => {
  const id = await get().createNode();
  const launcher = new FakeLauncher(get().zk);
  const argv = [...get().options(), 'request', 'small'];

  const [{ status }] = await Promise.all([
    nodepoolUntil((stdout) => stdout.includes('small-1'), ...argv),
    launcher.fulfil([id]),
  ]);

  expect([status, (await launcher.readNode(id)).state]).toEqual([0, 'used']);
});

it.each([
  [['request'], 2, 'request needs LABEL...'],
  [['request', 'small', '--count', '0.5'], 2, '--count needs a whole number above 0'],
  [['request', 'small', '--hold-for', 'long'], 2, '--hold-for needs a duration'],
  [['request', 'x'.repeat(100_000)], 1, 'No launcher offers the label xxx'],
])('%.40j asks for nothing', async (argv, status, message) => {
  await get().registerRack(['small']);

  expect(await get().call(...argv)).toMatchObject({ status, stderr: expect.stringContaining(message) as string });
  expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
});
