import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  IMAGES_ROOT,
  NODES_ROOT,
  nodeLockPath,
  REQUESTS_ROOT,
  ZkLock,
  type NodeFields,
  type NodeId,
} from '@nodepool/zk-protocol';
import { useInstallation } from './installation.js';

// The program as it is installed, so it must have been built.
const PROGRAM = fileURLToPath(new URL('../bin/nodepool.js', import.meta.url));
const get = useInstallation();

beforeAll(() => get().write('nodepool.yaml', 'labels:\n  - name: small\n'));

const call = (...argv: string[]) => get().nodepool('nodepool.yaml', ...argv);

/** Runs the program in a process of its own, with this typed in. */
async function typing(input: string, ...argv: string[]) {
  const options = ['-c', get().file('nodepool.yaml'), '--state-dir', get().file('state')];
  const child = spawn(process.execPath, [PROGRAM, ...options, ...argv], { stdio: ['pipe', 'pipe', 'inherit'] });
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
  await new ZkLock(get().zk, nodeLockPath(locked as NodeId)).acquire();
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

    expect(status).toBe(0);
    expect(stdout).toMatch(/Aborting\. No data erased\.\n$/);
    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(2);
  });

  it('refuses nodes with instances, which nothing would delete any more, and names them', async () => {
    await createProviders({ state: 'hold' });

    const { status, stderr } = await call('erase', 'rack');

    expect(status).toBe(1);
    expect(stderr).toMatch(
      /provider "rack" has nodes with instances: \d+ \(hold\)\. .* --force erases them all the same/,
    );
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

    const { status, stdout } = await call('erase', 'nobody', '--force');

    expect(status).toBe(0);
    expect(stdout).toBe('Erasing build data for nobody...\nErasing node data for nobody...\n');
    expect(await get().zk.getChildren(NODES_ROOT)).toHaveLength(2);
  });
});

describe('nodepool cancel', () => {
  it('deletes a request', async () => {
    const id = await get().createRequest(['small']);

    const { status, stdout } = await call('cancel', id);

    expect([status, stdout]).toEqual([0, `Request ${id} is cancelled\n`]);
    expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
  });

  it('says that there is none, with status 1, and which one was probably meant', async () => {
    const id = await get().createRequest(['small']);
    const short = String(Number(id.split('-')[1]));

    expect(await call('cancel', '200-9')).toMatchObject({
      status: 1,
      stderr: 'nodepool: Request id 200-9 not found\n',
    });
    expect((await call('cancel', short)).stderr).toBe(`nodepool: Request id ${short} not found, did you mean ${id}?\n`);
  });
});

describe('--watch', () => {
  it('looks again and again over one connection, until a signal', async () => {
    const options = ['-c', get().file('nodepool.yaml'), '--state-dir', get().file('state')];
    const argv = [...options, 'list', '--watch', '0.2s', '--json', '--fields', 'id'];
    const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (output += more));
    await expect.poll(() => output).toMatch(/^\[\]\n\[\]\n/);

    const id = await get().createNode();
    await expect.poll(() => output).toContain(`[{"id": "${id}"}]\n`);
    child.kill('SIGINT');

    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
