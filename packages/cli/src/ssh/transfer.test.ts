import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pathBelow, remoteFile } from './transfer.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** From `dist`, for a process of its own: a signal to its group must not reach the tests. It ends with the status of the error. */
const moduleOf = (path: string) => JSON.stringify(new URL(`../../dist/${path}.js`, import.meta.url));
const PROGRAM = (transfer: string) => `
  const { copyTo, fetchFrom } = await import(${moduleOf('ssh/transfer')});
  const { Interrupts } = await import(${moduleOf('terminal/interrupts')});
  const { patientClock: clock } = await import('@nodepool/zk-protocol');
  const { signal } = new Interrupts();
  const node = { where: 'node 1', script: () => [] };
  await ${transfer}.catch((error) => { console.error(error.message); process.exit(error.exitStatus ?? 1); });`;

/** Runs a transfer in a process group of its own, with an `ssh` that is a shell script. */
async function runTransfer(transfer: string, ssh: string) {
  writeFileSync(join(directory, 'ssh'), `#!/bin/sh\n${ssh}\n`, { mode: 0o755 });
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM(transfer)], {
    ...{ detached: true, stdio: ['ignore', 'ignore', 'pipe'], cwd: import.meta.dirname },
    env: { ...process.env, PATH: `${directory}:${process.env['PATH']}` },
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, errors };
}

describe.each([
  ['copied', `copyTo(node, { source: ${JSON.stringify(import.meta.dirname)} }, 'copy', { clock, signal })`],
  ['fetched', `fetchFrom(node, { directory: '.', name: 'x' }, '', { clock, signal })`],
])('while files are %s', (_, transfer) => {
  it.each([
    ['INT', 130],
    ['TERM', 143],
    ['HUP', 129],
  ] as const)('SIG%s for the group counts as an interrupt, although ssh fails because of it', async (name, status) => {
    const ssh = `trap 'exit 255' ${name}; kill -s ${name} 0; exit 255`;

    expect(await runTransfer(transfer, ssh)).toEqual({ status, errors: `interrupted by SIG${name}\n` });
  });

  it('an error of ssh without a signal is reported', async () => {
    const { status, errors } = await runTransfer(transfer, 'exit 255');

    expect(status).toBe(1);
    expect(errors).toContain('ssh ended with status 255');
  });
});

it('leaves a file out of a copy, and no other of its name', async () => {
  const names = ['a [1]*.txt', 'a 1.txt', 'sub/a [1]*.txt', 'token', 'sub/token'];
  const source = join(directory, 'source');
  mkdirSync(join(source, 'sub'), { recursive: true });
  for (const name of names) writeFileSync(join(source, name), '');
  const target = join(directory, 'target');
  const ssh = `rm -rf '${target}'; mkdir '${target}' && exec tar -x -C '${target}' -f -`;
  const copied = async (without: string | undefined) => {
    const files = JSON.stringify({ source, without });
    const { status, errors } = await runTransfer(`copyTo(node, ${files}, 'copy', { clock, signal })`, ssh);
    expect([status, errors]).toEqual([0, '']);
    const found = readdirSync(target, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    return found.map(({ parentPath, name }) => relative(target, join(parentPath, name))).sort();
  };

  expect(await copied(undefined)).toEqual([...names].sort());
  for (const without of names) expect(await copied(without)).toEqual(names.filter((each) => each !== without).sort());
});

it('finds the path of a file below a directory, through links', async () => {
  const inside = join(directory, 'inside');
  mkdirSync(inside);
  writeFileSync(join(inside, 'token'), '');
  writeFileSync(join(directory, '..token'), '');
  symlinkSync(inside, join(directory, 'link'));

  expect(await pathBelow(join(directory, 'link'), join(inside, 'token'))).toBe('token');
  expect(await pathBelow(directory, join(directory, 'link/token'))).toBe('inside/token');
  expect(await pathBelow(directory, join(directory, '..token'))).toBe('..token');
  expect(await pathBelow(inside, join(directory, '..token'))).toBeUndefined();
  expect(await pathBelow(inside, inside)).toBeUndefined();
  expect(await pathBelow(inside, join(directory, 'none'))).toBeUndefined();
});

it.each([
  ['results', { directory: '.', name: 'results' }],
  ['out/a b.log', { directory: './out', name: 'a b.log' }],
  ['out//deep/../x/', { directory: './out', name: 'x' }],
  ['/var/log/syslog', { directory: '/var/log', name: 'syslog' }],
  ['../up', { directory: './..', name: 'up' }],
  ['-n', { directory: '.', name: '-n' }],
  ['.', undefined],
  ['..', undefined],
  ['a/..', undefined],
  ['/', undefined],
])('the file %j of a node', (path, expected) => {
  expect(remoteFile(path)).toEqual(expected);
});
