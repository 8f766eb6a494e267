import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { IMAGES_ROOT, NODES_ROOT } from '@nodepool/zk-protocol';
import type { NodeFields } from '@nodepool/zk-protocol';
import { PROGRAM } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

/** Runs the program in a process of its own, with this typed in. */
async function typing(input: string, ...argv: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...get().options(), ...argv], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end(input);
  const ended = once(child, 'close');
  const stdout = await text(child.stdout);
  await ended;
  return { status: child.exitCode, stdout };
}

/** @param fields - of the node of `rack`; default: it has no instance */
async function createProviders(fields: NodeFields = { externalId: null }): Promise<string> {
  const other = await get().createNode({ provider: 'other' });
  const locked = await get().createNode(fields);
  await get().lock(locked);
  for (const provider of ['rack', 'other']) {
    await get().zk.ensurePath(`${IMAGES_ROOT}/debian/builds/b1/providers/${provider}/images/0000000003`);
  }
  await get().zk.ensurePath(`${IMAGES_ROOT}/debian/builds/lock`);
  return other;
}

describe('nodepool erase', () => {
  it.each(['y\n', 'Y\n'])('erases uploads and nodes of one provider when told %j', async (answer) => {
    const other = await createProviders();

    const { status, stdout } = await typing(answer, 'erase', 'rack');

    expect(status).toBe(0);
    expect(stdout).toContain(
      '\nWARNING! This action is not reversible!\nErase ZooKeeper data for provider rack? [N/y] ',
    );
    expect(stdout).toContain('Erasing build data for rack...\nErasing node data for rack...\n');
    expect(await get().zk.getChildren(NODES_ROOT)).toEqual([other]);
    expect(await get().zk.getChildren(`${IMAGES_ROOT}/debian/builds/b1/providers`)).toEqual(['other']);
  });

  it.each(['n\n', '\n', 'yes\n', ''])('erases nothing when told %j', async (answer) => {
    await createProviders();

    const { status, stdout } = await typing(answer, 'erase', 'rack');

    expect(status).toBe(1);
    expect(stdout).toMatch(/Aborting\. No data erased\.\n$/);
    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(2);
  });

  it('refuses nodes with instances, which nothing would delete any more, and names them', async () => {
    await createProviders({ state: 'hold' });

    const { status, stderr } = await call('erase', 'rack');

    expect(status).toBe(1);
    expect(stderr).toMatch(/provider "rack" has nodes with instances: \d+ \(hold\)\. .* --force erases them anyway/);
    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(2);
  });

  it('refuses a provider that a launcher serves', async () => {
    await createProviders();
    await get().registerRack(['small'], { hostname: 'nl01' });

    const { status, stderr } = await call('erase', 'rack');

    expect(status).toBe(1);
    expect(stderr).toMatch(/provider "rack" is served by the launcher on nl01, .* --force erases them anyway/);
    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(2);
  });

  it('erases nodes with instances with --force', async () => {
    const other = await createProviders({ state: 'hold' });

    const { status } = await call('erase', 'rack', '--force');

    expect(status).toBe(0);
    expect(await get().zk.getChildren(NODES_ROOT)).toEqual([other]);
  });

  it('does not ask with --force, and is fine with an unknown provider', async () => {
    await createProviders();

    const { status, stdout } = await call('erase', 'unknown', '--force');

    expect(status).toBe(0);
    expect(stdout).toBe('Erasing build data for unknown...\nErasing node data for unknown...\n');
    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(2);
  });
});
