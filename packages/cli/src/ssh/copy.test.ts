import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runTransfer } from '../../test/run-transfer.js';
import { pathBelow } from './copy.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-ssh-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('leaves a file out of a copy, and no other of its name', async () => {
  const names = ['a [1]*.txt', 'a 1.txt', 'sub/a [1]*.txt', 'token', 'sub/token'];
  const source = join(directory, 'source');
  mkdirSync(join(source, 'sub'), { recursive: true });
  for (const name of names) writeFileSync(join(source, name), '');
  const target = join(directory, 'target');
  const ssh = `rm -rf '${target}'; mkdir '${target}' && exec tar -x -C '${target}' -f -`;
  const copied = async (without: string | undefined) => {
    const files = JSON.stringify({ source, without });
    const { status, errors } = await runTransfer(directory, `copyTo(node, ${files}, 'copy', { clock, signal })`, ssh);
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
