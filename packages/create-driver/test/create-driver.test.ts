import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDriver } from '../src/index.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));

function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'create-driver-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

describe('a driver made from the template', () => {
  it('passes its own tests under its name', { timeout: 180_000 }, async () => {
    const folder = join(tempDir(), 'nodepool-driver-acme');

    const made = await createDriver({ folder });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-b', 'packages/core'], { cwd: root });
    const { stdout } = await run('npm', ['test'], { cwd: folder, env: { ...process.env, NODE_OPTIONS: '' } });

    expect(made).toEqual({ path: folder, name: 'acme' });
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      name: 'nodepool-driver-acme',
      nodepool: { driver: 'acme' },
    });
    expect(stdout).toMatch(/driver "acme"/);
    expect(stdout).toMatch(/^# fail 0$|^ℹ fail 0$/m);
  });

  it('has a .gitignore and no mention of the template', async () => {
    const folder = join(tempDir(), 'x');

    await createDriver({ folder, name: 'acme-two' });

    const named = ['package.json', 'src/name.ts', 'examples/nodepool.yaml'];
    expect(named.filter((file) => readFileSync(join(folder, file), 'utf8').includes('template'))).toEqual([]);
    expect(readFileSync(join(folder, 'src/name.ts'), 'utf8')).toContain("'acme-two'");
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['.gitignore', 'package.json', 'src', 'test']));
    expect(readdirSync(folder)).not.toContain('gitignore');
  });
});

describe('createDriver', () => {
  it('refuses a folder that is not empty', async () => {
    const folder = tempDir();
    writeFileSync(join(folder, 'mine'), '');

    await expect(createDriver({ folder, name: 'acme' })).rejects.toThrow(/is not empty: name a new folder/);
    expect(readdirSync(folder)).toEqual(['mine']);
  });

  it.each(['Acme', '1a', 'a_b', '../x', ''])('refuses the name "%s"', async (name) => {
    const parent = tempDir();

    await expect(createDriver({ folder: join(parent, 'new'), name })).rejects.toThrow(/cannot be the name of a driver/);
    expect(readdirSync(parent)).toEqual([]);
  });

  it('refuses to overwrite a file', async () => {
    const parent = tempDir();
    writeFileSync(join(parent, 'file'), '');

    await expect(createDriver({ folder: join(parent, 'file'), name: 'acme' })).rejects.toThrow(/ENOTDIR/);
  });

  it('fills an empty folder', async () => {
    const folder = join(tempDir(), 'nodepool-driver-empty');
    mkdirSync(folder);

    expect((await createDriver({ folder })).name).toBe('empty');
  });
});
