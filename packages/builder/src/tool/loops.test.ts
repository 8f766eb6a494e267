// Detaching loop devices of builds, with the kernel of this machine. Needs root.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { detachLoops, noteLoop } from './loops.js';

const run = promisify(execFile);
const SIZE = 1_048_576;

let dir: string;
/** Directory of the build, inside that of the builder. */
let own: string;
const attached: string[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'loops-test-'));
  own = join(dir, 'own');
  await mkdir(own);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const device of attached.splice(0)) if (await isAttached(device)) await run('losetup', ['--detach', device]);
  await rm(dir, { recursive: true });
});

async function attach(file: string): Promise<string> {
  await writeFile(file, '');
  await truncate(file, SIZE);
  const { stdout } = await run('losetup', ['--find', '--show', file]);
  attached.push(stdout.trim());
  return stdout.trim();
}

/** Whether the device is backed by a file of this test. */
async function isAttached(device: string): Promise<boolean> {
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--raw', '--output', 'BACK-FILE', device]).catch(
    () => ({ stdout: '' }),
  );
  return stdout.startsWith(`${dir}/`);
}

const lineOf = (device: string, file: string) =>
  `2026-11-23 10:00:00.000 | DEBUG diskimage_builder.block_device.level0.localloop [-] ` +
  `Created loop  name [image0] device [${device}] image [${file}]\n`;

describe('a loop device', () => {
  it('named in the tool output is detached, even if its file has moved', async () => {
    const [file, moved] = [join(dir, 'image0.raw'), join(dir, 'moved.raw')];
    const device = await attach(file);
    await noteLoop(own, lineOf(device, file));
    await rename(file, moved);

    await detachLoops(own);

    expect(await isAttached(device)).toBe(false);
    expect((await stat(join(own, 'loop-devices'))).mode & 0o777).toBe(0o600);
  });

  it('is detached without tool output if its file is below the directory', async () => {
    const device = await attach(join(own, 'image0.raw'));

    await detachLoops(own);

    expect(await isAttached(device)).toBe(false);
  });

  it('that cannot be detached is reported', async () => {
    const device = await attach(join(own, 'image0.raw'));
    vi.stubEnv('PATH', own); // a machine without losetup

    const detached = detachLoops(own);

    await expect(detached).rejects.toThrow(`${device} attached`);
  });

  it('is kept if another build has attached the same file since', async () => {
    const file = join(dir, 'image0.raw');
    const device = await attach(file);
    await noteLoop(own, lineOf(device, file));
    await run('sh', ['-c', 'losetup --detach "$0" && losetup "$0" "$1"', device, file]);

    await detachLoops(own);

    expect(await isAttached(device)).toBe(true);
  });

  it('is kept if it had another backing file when the line was read', async () => {
    const device = await attach(join(dir, 'other.raw'));
    await writeFile(join(dir, 'image0.raw'), '');
    await noteLoop(own, lineOf(device, join(dir, 'image0.raw')));

    await detachLoops(own);

    expect(await isAttached(device)).toBe(true);
  });
});
