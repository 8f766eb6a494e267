import { createHash } from 'node:crypto';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Driver, Provider } from '@nodepool/core';
import { createFakeDriver } from '@nodepool/driver-fake';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { buildPath, encodeBuild } from '@nodepool/zk-protocol';
import { describe, expect, it, vi } from 'vitest';
import { debian, WAIT } from '../../test/support/builds.js';
import { useWorld } from '../../test/support/use-world.js';
import type { World, WorldOptions } from '../../test/support/world.js';

const said = (of: World, text: RegExp) => vi.waitFor(() => expect(of.said.join('\n')).toMatch(text), WAIT);

const startWorld = useWorld();
const start = (options: Partial<WorldOptions> = {}) => startWorld({ diskimages: debian(), ...options });

describe('an upload', () => {
  it('of a file that differs from the build fails, and leaves nothing in the cloud', async () => {
    const of = await start({ provider: 'pause: true' });
    const builder = await of.builder();
    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
    const [file = ''] = (await of.files()).filter((name) => name.endsWith('.qcow2'));
    const data = await readFile(join(of.imagesDir, file));
    const good = Buffer.from(data);
    data[0] = (data[0] ?? 0) ^ 1;
    await writeFile(join(of.imagesDir, file), data);
    for (const kind of ['md5', 'sha256']) {
      const sum = createHash(kind).update(data).digest('hex');
      await writeFile(join(of.imagesDir, `${file}.${kind}`), `${sum}  ${file}\n`); // as who replaces the file would
    }

    await builder.reconfigure(await of.reload({ diskimages: debian() }));

    await said(of, /error Upload failed: .*debian-\w+\.qcow2" differs from the build: its sha256 is \w+, expected/);
    await vi.waitFor(async () => expect(await of.cloudImages()).toEqual([]), WAIT);
    expect(of.states('debian').builds).toEqual(['ready']);
    await vi.waitFor(() => expect(builder.work).toMatchObject([{ provider: 'sky', phase: 'blocked' }]), WAIT);
    expect(builder.failingUploads).toEqual([]);
    await builder.reconfigure(of.config);
    await builder.tree.settle();
    expect(of.said.filter((text) => text.startsWith('error Upload failed'))).toHaveLength(1); // it is not read again

    await writeFile(join(of.imagesDir, file), good);
    await builder.reconfigure(of.config);

    await vi.waitFor(() => expect(of.states('debian').uploads).toContain('sky ready'), WAIT);
  });

  it('of a truncated file without checksums fails before anything is sent', async () => {
    const of = await start({ provider: 'pause: true' });
    const builder = await of.builder();
    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
    const [file = ''] = (await of.files()).filter((name) => name.endsWith('.qcow2'));
    await truncate(join(of.imagesDir, file), 3);
    await Promise.all(['md5', 'sha256'].map((kind) => rm(join(of.imagesDir, `${file}.${kind}`))));

    await builder.reconfigure(await of.reload({ diskimages: debian() }));

    await said(
      of,
      /error Upload failed: .*\.qcow2" differs from the build: it has 3 bytes, expected \d+; nothing was sent/,
    );
    expect(await of.cloudImages()).toEqual([]);
  });

  it('of a truncated file of a build without checksums fails', async () => {
    await ensureDebianPackages(['qemu-utils']);
    const diskimages = debian({ QEMU: '1' });
    const of = await start({ diskimages, provider: 'pause: true' });
    const builder = await of.builder();
    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
    const build = of.lastBuild('debian');
    if (!build) throw new Error('no build');
    const { files: _, ...raw } = build.raw; // as an earlier version leaves them out
    await of.zk.setData(buildPath('debian', build.id), encodeBuild({ ...build, raw }));
    await vi.waitFor(() => expect(builder.tree.images.get('debian')?.builds.get(build.id)?.raw).toEqual(raw), WAIT);
    const [file = ''] = (await of.files()).filter((name) => name.endsWith('.qcow2'));
    await truncate(join(of.imagesDir, file), 70_000);

    await builder.reconfigure(await of.reload({ diskimages }));

    await said(of, /error Upload failed: .*\.qcow2" differs from the build: "qemu-img check" refuses it: .+/);
    expect(await of.cloudImages()).toEqual([]);
  });

  it('reports a missing file and its remedy', async () => {
    const of = await start({ provider: 'pause: true' });
    const builder = await of.builder();
    await vi.waitFor(() => expect(of.states('debian').builds).toEqual(['ready']), WAIT);
    for (const name of await of.files()) await rm(join(of.imagesDir, name));

    await builder.reconfigure(await of.reload({ diskimages: debian() }));

    await said(of, /^warn Image cannot be uploaded: its file is out of reach/m);
    const error = expect.stringMatching(
      /^the qcow2 file of build \w+ is gone .*run "nodepool image-build debian"/,
    ) as string;
    expect(builder.work).toMatchObject([{ image: 'debian', provider: 'sky', phase: 'blocked', error }]);
  });

  it('that the cloud does not begin to take shows since when', async () => {
    const fake = createFakeDriver();
    const hanging: Driver = {
      ...fake,
      getProvider: (config, context) =>
        Object.defineProperty<Provider>(fake.getProvider(config, context), 'uploadImage', {
          value: (_: unknown, signal: AbortSignal) =>
            new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
        }),
    };
    const of = await start({ drivers: [hanging] });
    const builder = await of.builder();

    const uploading = { phase: 'uploading', sentAtMs: expect.any(Number) as number };
    await vi.waitFor(() => expect(builder.running.uploads).toMatchObject([uploading]), WAIT);
  });

  it('that takes longer than image-upload-timeout is ended, and its part of an image removed', async () => {
    const of = await start({ sky: 'image-upload-timeout: 1', cloud: 'upload-time: 3600' });
    await of.builder();

    await said(of, /error Upload failed: not uploaded within 1 s \(image-upload-timeout\)/);
    await vi.waitFor(() => expect(of.cloud.cloud.images()).toEqual([]), WAIT);
  });
});
