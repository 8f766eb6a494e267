import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

const PROGRAM = fileURLToPath(new URL('ensure.mjs', import.meta.url));
const ENSURE = "import('./scripts/ensure.mjs').then(({ ensureInstalled }) => ensureInstalled())";

let checkout = '';

/** Runs a program in the checkout. @returns what it reported on standard error */
function run(program: string, ...args: string[]): string {
  const { status, stderr, error } = spawnSync(program, args, { cwd: checkout, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stderr}`);
  return stderr;
}
const ensure = (): string => run(process.execPath, '-e', ENSURE);

function addPackage(name: string): void {
  mkdirSync(join(checkout, 'packages', name), { recursive: true });
  const manifest = { name: `@nodepool/${name}`, version: '0.1.0', private: true };
  writeFileSync(join(checkout, 'packages', name, 'package.json'), JSON.stringify(manifest));
}
const linkOf = (name: string): string => realpathSync(join(checkout, 'node_modules', '@nodepool', name));

beforeEach(() => {
  checkout = realpathSync(mkdtempSync(join(tmpdir(), 'nodepool-checkout-')));
  onTestFinished(() => rmSync(checkout, { recursive: true }));
  mkdirSync(join(checkout, 'scripts'));
  cpSync(PROGRAM, join(checkout, 'scripts', 'ensure.mjs'));
  writeFileSync(
    join(checkout, 'package.json'),
    '{ "name": "checkout", "private": true, "workspaces": ["packages/*"] }',
  );
  addPackage('core');
  run('npm', 'install', '--no-audit', '--no-fund', '--offline', '--loglevel=error');
});

describe('an installed checkout', () => {
  it('is left as it is when nothing has changed', () => {
    expect(ensure()).toBe('');
  });

  it('links a package that came with its entry in package-lock.json', () => {
    addPackage('fresh');
    run('npm', 'install', '--package-lock-only', '--no-audit', '--no-fund', '--offline', '--loglevel=error');

    expect(ensure()).toMatch(/^Linking packages\/fresh \(npm install\) \.\.\./);
    expect(linkOf('fresh')).toBe(join(checkout, 'packages', 'fresh'));
    expect(ensure()).toBe('');
  });

  it('links a package that package-lock.json does not know yet', () => {
    addPackage('fresh');

    ensure();

    expect(linkOf('fresh')).toBe(join(checkout, 'packages', 'fresh'));
    expect(ensure()).toBe('');
  });

  it('links a package again whose folder has another name', () => {
    renameSync(join(checkout, 'packages', 'core'), join(checkout, 'packages', 'kernel'));

    ensure();

    expect(linkOf('core')).toBe(join(checkout, 'packages', 'kernel'));
  });
});
