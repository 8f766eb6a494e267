import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FakeLauncher } from '../../test/fake-launcher.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();

/** Runs a command with a node, which a launcher hands out. @returns the node and the outcome */
async function run(options: string[], ...command: string[]) {
  const id = await get().createNode({ interfaceIp: '192.0.2.1' });
  const launcher = new FakeLauncher(get().zk);
  const argv = ['run', 'small', ...options, '--', ...command];
  const [outcome] = await Promise.all([get().call(...argv), launcher.fulfil([id])]);
  return { id, node: await launcher.readNode(id), ...outcome };
}

it('runs the command with the nodes in its environment and returns them', async () => {
  const file = get().file('seen');
  const script = 'echo "$NODEPOOL_NODE_COUNT $NODEPOOL_NODE_0_IP $NODEPOOL_NODE_0_ID $2" > "$1"; exit 3';

  const { id, status, node } = await run(['-q'], 'sh', '-c', script, 'sh', file, 'a b');

  expect([status, node.state]).toEqual([3, 'used']);
  expect(readFileSync(file, 'utf8')).toBe(`1 192.0.2.1 ${id} a b\n`);
});

it('holds the nodes of a command that failed, when asked to', async () => {
  const { id, status, node, stderr } = await run(['--hold-on-failure=2h'], 'false');

  expect([status, node.state, node.holdExpirationMs]).toEqual([1, 'hold', 7_200_000]);
  expect(stderr).toContain(`nodepool: the command failed with status 1; node ${id} is held until 20`);
  expect(stderr).toContain(`  nodepool delete ${id}   # ends the hold\n`);
});

it.each([
  [['/no/such/program'], 127],
  [['/etc/passwd'], 126],
  [['true', 'x'.repeat(3_000_000)], 126],
])('ends with the status of shells for a command that cannot be run: %.30j', async (command, status) => {
  expect(await run(['-q'], ...command)).toMatchObject({ status, node: { state: 'used' } });
});

it('first prints that the command runs on this computer', async () => {
  const { stderr } = await get().call('run', '--timeout', '0.1s', 'small', '--', 'make', 'test');

  expect(stderr).toMatch(/^nodepool: make runs on this computer .*nodepool ssh small -- make/);
});

it.each([
  [['run', 'small'], 'run needs a command: nodepool run LABEL... -- COMMAND ARGS'],
  [['run', '--', 'true'], 'run needs LABEL...'],
  [['run', 'small', '--hold-on-failure=0', '--', 'true'], '--hold-on-failure needs a time above 0'],
])('does not understand %j', async (argv, message) => {
  expect(await get().call(...argv)).toMatchObject({ status: 2, stderr: expect.stringContaining(message) as string });
});
