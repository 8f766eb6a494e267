// The smallest configuration of the README, with a real build that downloads Debian. Run with npm run test:image
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { expect, it, vi } from 'vitest';
import { useWorld } from '../support/use-world.js';

const README = fileURLToPath(new URL('../../README.md', import.meta.url));
const PACKAGES = ['python3-diskimage-builder', 'qemu-utils', 'debootstrap', 'dosfstools', 'gdisk', 'kpartx', 'sudo'];
const BUILD_MS = 1_800_000;

const startWorld = useWorld();

/** The element `vm` creates a boot loader and partitions, which requires device-mapper in the kernel. */
function hasDeviceMapper(): boolean {
  try {
    closeSync(openSync('/dev/mapper/control', 'r+')); // the file can exist without a driver
    return true;
  } catch {
    return false;
  }
}

/** The list in `diskimages:` of the first example in the README, without its indentation. */
async function readmeDiskimages(): Promise<string> {
  const [, list] =
    /```yaml\nimages-dir:[^]*?\ndiskimages:\n([^]*?)\nproviders:/.exec(await readFile(README, 'utf8')) ?? [];
  if (list === undefined) throw new Error('the README has no configuration of an image');
  return list.replaceAll(/^ {2}/gm, '');
}

it('the smallest configuration of the README builds an image', { timeout: BUILD_MS }, async () => {
  await ensureDebianPackages(PACKAGES);
  const written = await readmeDiskimages();
  const world = await startWorld({ diskimages: hasDeviceMapper() ? written : written.replace(' vm,', '') });

  await world.builder();
  await vi.waitFor(() => expect(world.lastBuild('debian')?.state).toMatch(/ready|failed/), {
    timeout: BUILD_MS,
    interval: 1_000,
  });

  expect(world.lastBuild('debian')?.raw['error']).toBeUndefined();
  expect(world.lastBuild('debian')?.state).toBe('ready');
});
