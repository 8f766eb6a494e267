import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

const SCRIPTS = fileURLToPath(new URL('.', import.meta.url));
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
  for (const file of ['ensure.mjs', 'build-lock.mjs']) cpSync(join(SCRIPTS, file), join(checkout, 'scripts', file));
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

describe('two processes in one checkout', () => {
  const lockFile = () => join(checkout, '.build-lock');

  /** Starts the program with an `npm` that ignores signals, and waits until that runs. */
  async function startWithStubbornNpm() {
    const npm = join(checkout, 'bin', 'npm');
    mkdirSync(join(checkout, 'bin'));
    writeFileSync(npm, `#!/bin/sh\ntrap '' INT TERM\necho started\nsleep 60\n`, { mode: 0o755 });
    addPackage('fresh');
    const env = { ...process.env, PATH: `${join(checkout, 'bin')}${delimiter}${process.env['PATH']}` };
    const child = spawn(process.execPath, ['-e', ENSURE], { cwd: checkout, env });
    onTestFinished(() => void child.kill('SIGTERM'));
    // the program itself prints a line before it starts npm
    for await (const data of child.stdout) if (String(data).includes('started')) break;
    await vi.waitFor(() => expect(readFileSync(lockFile(), 'utf8')).toContain(' -')); // it holds the lock too
    return child;
  }

  it('take turns: the second says what it waits for', async () => {
    const holder = spawn('sleep', ['60']);
    onTestFinished(() => void holder.kill());
    writeFileSync(lockFile(), `${holder.pid}`);
    addPackage('fresh');

    const second = spawn(process.execPath, ['-e', ENSURE], { cwd: checkout });
    const [line] = (await once(second.stderr, 'data')) as [Buffer];
    expect(line.toString()).toMatch(
      /^Waiting for process \d+, which installs or builds in this checkout \(.*build-lock\)/,
    );
    expect(existsSync(join(checkout, 'node_modules', '@nodepool', 'fresh'))).toBe(false);
    holder.kill();
    const [status] = (await once(second, 'close')) as [number];

    expect(status).toBe(0);
    expect(linkOf('fresh')).toBe(join(checkout, 'packages', 'fresh'));
    expect(existsSync(lockFile())).toBe(false);
  });

  it('do not wait for a process that has ended', () => {
    const { pid } = spawnSync('true');
    writeFileSync(lockFile(), `${pid}`);

    expect(ensure()).toBe('');
    expect(existsSync(lockFile())).toBe(false);
  });

  it('end within two seconds of Ctrl-C, with what they started, and leave no lock', async () => {
    const child = await startWithStubbornNpm();
    const asked = performance.now();

    child.kill('SIGINT');
    // "close" comes once npm, which shares the output, has ended too
    const [status] = (await once(child, 'close')) as [number];

    expect(status).toBe(130);
    expect(performance.now() - asked).toBeLessThan(2000);
    expect(existsSync(lockFile())).toBe(false);
  });

  it('wait for the npm of a process that was killed', async () => {
    const child = await startWithStubbornNpm();
    child.kill('SIGKILL');
    await once(child, 'exit');

    const second = spawn(process.execPath, ['-e', ENSURE], { cwd: checkout });
    const [line] = (await once(second.stderr, 'data')) as [Buffer];
    second.kill();
    process.kill(Number(readFileSync(lockFile(), 'utf8').split(' ')[1]), 'SIGKILL');

    expect(line.toString()).toContain(`Waiting for process ${child.pid}`);
  });
});
