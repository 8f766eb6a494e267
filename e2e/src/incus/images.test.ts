// From an element of the real diskimage-builder to a job in a container of a real LXD.
import { readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeTinyImage } from '@nodepool/incus';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { children } from '../inventory.js';
import type { IncusSetup } from './incus-harness.js';
import { useIncus } from './use-incus.js';

const get = useIncus();
const PACKAGES = ['python3-diskimage-builder', 'qemu-utils', 'busybox-static', 'sudo'];
const ELEMENTS = fileURLToPath(new URL('elements', import.meta.url));
const PATIENCE_MS = 300_000;
const BUILDS = '/nodepool/images/tiny-built/builds';

beforeAll(() => ensureDebianPackages(PACKAGES), 300_000);

/** The file of launcher and builder. @param names - of the images there are */
function setupOf(rootfs: string, names: readonly string[]): IncusSetup {
  const env = { DIB_JOURNAL_SIZE: '4', DIB_IMAGE_SIZE: '0.05', SKIP_BASE: '1', TINY_ROOTFS: rootfs };
  const image = { elements: ['tiny'], username: 'root', 'env-vars': env };
  const diskimages = names.map((name) => ({ name }));
  return {
    ...get().setup({ diskimage: 'tiny-built' }, { diskimages, ...(names.length === 0 && { pools: [] }) }),
    more: { 'elements-dir': ELEMENTS, diskimages: names.map((name) => ({ name, ...image })) },
  };
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + PATIENCE_MS; !(await isSo()); await pause(200)) {
    if (Date.now() > endMs) throw new Error(`still no ${what}`);
  }
}

const uploaded = async () => (await get().lxd.images()).filter((fingerprint) => !get().kept.has(fingerprint));
const builds = async () => (await children(get().zk, BUILDS)).filter((name) => name !== 'lock');

it('builds an element, uploads it, runs a job in a container of it, and deletes all of it', async () => {
  const tiny = await makeTinyImage(get().publicKey);
  onTestFinished(() => tiny.remove());
  const setup = setupOf(tiny.rootfs, ['tiny-built']);
  const builder = await get().startBuilder(setup, 'builder');
  const startMs = Date.now();
  await builder.whenLogged(/Upload is ready/, 0, PATIENCE_MS);
  console.log(`built and uploaded in ${((Date.now() - startMs) / 1_000).toFixed(1)} s`);
  const launcher = await get().launch(setup);
  const zuul = await get().newClient();

  const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
  const hostname = await get().ssh(nodes[0] ?? expect.fail('there is no node'), 'hostname');
  const [fingerprint, ...others] = await uploaded();
  const [instance] = JSON.parse(await get().lxd.lxc(['list', '--format=json'])) as { config: Record<string, string> }[];

  expect(hostname.trim()).toBe(nodes[0]?.body['external_id']);
  expect(others).toEqual([]);
  expect(instance?.config['volatile.base_image']).toBe(fingerprint);

  await zuul.giveBack(nodes);
  await launcher.stop();
  await builder.rewriteConfig(get().builderConfig(setupOf(tiny.rootfs, []), 'builder'));
  await until('end of the image', async () => {
    const files = (await readdir(get().imagesDir('builder'))).filter((name) => name.startsWith('tiny-built'));
    return [...(await uploaded()), ...(await builds()), ...files].length === 0;
  });
  await builder.stop();
  await get().zk.deleteRecursive('/nodepool/images'); // names of images stay, as in Nodepool
}, 900_000);
