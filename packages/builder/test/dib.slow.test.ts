// The real diskimage-builder: its builds, and removing the leftovers of a killed builder. Run with npm run test:dib
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { imageBuildRequestPath, systemClock } from '@nodepool/zk-protocol';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { convertImage } from '../src/upload/convert-image.js';
import { kill, Processes } from './support/processes.js';
import { useWorld, whenReady } from './support/use-world.js';
import type { World } from './support/world.js';

const run = promisify(execFile);
const ELEMENTS = fileURLToPath(new URL('fixtures/elements', import.meta.url));
const PACKAGES = ['python3-diskimage-builder', 'qemu-utils', 'busybox-static', 'sudo'];
const WAIT = { timeout: 150_000, interval: 100 };
const SMALL = '    DIB_JOURNAL_SIZE: "4"\n    DIB_IMAGE_SIZE: "0.05"\n    SKIP_BASE: "1"\n';

const debian = (more = '', element = 'busybox') =>
  `- name: debian\n  elements: [${element}]\n  formats: [raw]\n  env-vars:\n${SMALL}${more}`;

const startWorld = useWorld();
const processes = new Processes();

beforeAll(() => ensureDebianPackages(PACKAGES), 300_000);

afterEach(() => processes.end());

const start = (diskimages: string) =>
  startWorld({ diskimages: diskimages || debian(), top: `elements-dir: ${ELEMENTS}` });

const mounts = async (of: World) =>
  (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.includes(of.dir));

const ready = (of: World, count: number) => whenReady(of, count, WAIT);

describe('with the real tool', () => {
  it('an image is built in two formats, converted to a third, and replaced twice', { timeout: 500_000 }, async () => {
    const of = await start(debian());
    const { zk } = of;
    await of.builder();
    await ready(of, 1);
    const [build] = [...(of.tree.images.get('debian')?.builds.values() ?? [])];
    if (!build) throw new Error('no build');
    const endings = (await of.files()).map((name) => name.replace(/^[^.]*\./, '')).sort();
    expect(endings).toEqual(['qcow2', 'qcow2.md5', 'qcow2.sha256', 'raw', 'raw.md5', 'raw.sha256']);
    const parts = { zk, imagesDir: of.imagesDir, clock: systemClock, env: process.env, sandbox: [] };
    const planned = { provider: 'sky', build, format: 'vmdk', convertFrom: 'qcow2' };
    await convertImage(parts, planned, AbortSignal.timeout(30_000));
    expect((await of.files()).filter((name) => name.endsWith('.vmdk'))).toHaveLength(1);

    for (let round = 1; round <= 2; round += 1) {
      const before = of.happened.filter((text) => text === 'built debian 0').length;
      await zk.create(imageBuildRequestPath('debian'));
      await vi.waitFor(
        () => expect(of.happened.filter((text) => text === 'built debian 0')).toHaveLength(before + 1),
        WAIT,
      );
      await ready(of, 2);
    }

    await vi.waitFor(
      async () => expect((await of.files()).filter((name) => name.includes(build.id))).toEqual([]),
      WAIT,
    );
    expect(await of.cloudImages()).toHaveLength(2);
    expect(await mounts(of)).toEqual([]);
  });

  it.each([
    ['busybox, broken', /^element broken, root.d\/50-broken failed with exit code 7: this element is broken$/],
    [
      'no-such-element',
      /^the build tool failed with exit code 1: .*MissingElementException: Element 'no-such-element' not found$/,
    ],
  ])('the element %s fails the build, with the reason', { timeout: 300_000 }, async (element, reason) => {
    const of = await start(debian('', element));
    await of.builder();

    await vi.waitFor(() => expect(of.lastBuild('debian')?.raw['error']).toMatch(reason), WAIT);
    expect(await mounts(of)).toEqual([]);
  });
});

describe('a builder that is killed', () => {
  /** Expects no leftovers of the killed builder, and one good image. */
  async function expectClean(of: World): Promise<void> {
    await ready(of, 1);
    const { id } = of.lastBuild('debian') ?? {};
    await vi.waitFor(async () => {
      expect((await of.files()).filter((name) => !name.includes(id ?? '?'))).toEqual([]);
      expect(await of.cloudImages()).toHaveLength(1);
      const [tmpRoot = ''] = (await readdir(of.dir)).filter((name) => name.startsWith('nodepool-builder-'));
      expect(await readdir(join(of.dir, tmpRoot))).toEqual([]);
    }, WAIT);
    expect(await mounts(of)).toEqual([]);
    expect(await processesBelow(of)).toEqual([]);
  }

  /** Loop devices with a backing file in a directory. The path must be unique across file systems. */
  async function loopsBelow(directory: string): Promise<string[]> {
    const { stdout } = await run('losetup', ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE']);
    return stdout.split('\n').filter((line) => line.includes(` ${directory}/`));
  }

  /** Command lines of processes that belong to builds of this world. */
  async function processesBelow(of: World): Promise<string[]> {
    const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const environments = ids.map(async (id) => {
      const text = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '');
      return text.includes(`TMPDIR=${of.dir}/nodepool-builder-`) ? [id] : [];
    });
    return (await Promise.all(environments)).flat();
  }

  it('during a build leaves no process and no mount, and the next builder builds', { timeout: 500_000 }, async () => {
    const of = await start('');
    const hold = join(of.dir, 'hold');
    await of.reload({ diskimages: debian(`    HOLD_ROOT: ${hold}\n`), top: `elements-dir: ${ELEMENTS}` });
    await writeFile(hold, '');
    const child = await processes.builder(of);
    await vi.waitFor(() => expect(existsSync(`${hold}.reached`)).toBe(true), WAIT);
    expect(await processesBelow(of)).not.toEqual([]);

    await kill(child);

    await vi.waitFor(async () => expect(await processesBelow(of)).toEqual([]), WAIT);
    expect(await mounts(of)).toEqual([]);
    await rm(hold);
    await processes.builder(of);
    await expectClean(of);
  });

  it('with an image in another TMPDIR leaves no loop device', { timeout: 500_000 }, async () => {
    const of = await start('');
    const [hold, elsewhere] = [join(of.dir, 'hold'), join(of.dir, 'elsewhere')];
    const variables = `    HOLD_IMAGE: ${hold}\n    TMPDIR: ${elsewhere}\n`;
    await of.reload({ diskimages: debian(variables), top: `elements-dir: ${ELEMENTS}` });
    await Promise.all([writeFile(hold, ''), mkdir(elsewhere)]);
    const child = await processes.builder(of);
    await vi.waitFor(() => expect(existsSync(`${hold}.reached`)).toBe(true), WAIT);
    const devices = await loopsBelow(elsewhere);
    expect(devices).toHaveLength(1);

    await kill(child);

    expect(await loopsBelow(elsewhere)).toEqual(devices);
    await rm(hold);
    await processes.builder(of);
    await ready(of, 1);
    expect(await loopsBelow(elsewhere)).toEqual([]);
  });

  it(
    'in the post-upload hook leaves no image in the cloud, and the next builder uploads',
    { timeout: 500_000 },
    async () => {
      const of = await start('');
      const hook = join(of.dir, 'hook.sh');
      await writeFile(hook, `#!/bin/sh\n[ -e ${of.dir}/again ] && exit 0\ntouch ${of.dir}/in-hook\nexec sleep 1000\n`);
      await chmod(hook, 0o755);
      await of.reload({ diskimages: debian(), top: `elements-dir: ${ELEMENTS}`, sky: `post-upload-hook: ${hook}` });
      const child = await processes.builder(of);
      await vi.waitFor(() => expect(existsSync(join(of.dir, 'in-hook'))).toBe(true), WAIT);
      expect(await of.cloudImages()).toHaveLength(1);

      await kill(child);

      await writeFile(join(of.dir, 'again'), '');
      await processes.builder(of);
      await expectClean(of);
    },
  );

  it('that is stopped during a build ends the build within the time limit', { timeout: 300_000 }, async () => {
    const of = await start('');
    const hold = join(of.dir, 'hold');
    await of.reload({ diskimages: debian(`    HOLD_ROOT: ${hold}\n`), top: `elements-dir: ${ELEMENTS}` });
    await writeFile(hold, '');
    const child = await processes.builder(of);
    await vi.waitFor(() => expect(existsSync(`${hold}.reached`)).toBe(true), WAIT);

    child.kill('SIGTERM');
    await once(child, 'exit');

    expect(child.exitCode).toBe(0);
    expect(await processesBelow(of)).toEqual([]);
    await vi.waitFor(() => expect(of.lastBuild('debian')?.raw['error']).toBe('the builder was stopped'), WAIT);
  });
});
