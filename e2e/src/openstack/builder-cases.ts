import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { textOf, type ApiObject } from '@nodepool/openstack';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { children } from '../inventory.js';
import type { ServiceProcess } from '../service-process.js';
import type { HeldNode, ZuulClient } from '../zuul-client.js';
import { BuiltImages, REAL, type ImageProvider } from './built-images.js';
import type { OpenStackHarness } from './openstack-harness.js';

const PACKAGES = ['python3-diskimage-builder', 'qemu-utils', 'busybox-static', 'sudo', 'curl'];
const PATIENCE_MS = 120_000;
const REQUEST = '/nodepool/images/small/request-build';
/** How much longer than its tool a build may take. */
const MOST_OVERHEAD_MS = 2_000;
/** Share of the speed of curl that an upload reaches. */
const LEAST_SHARE = 0.9;
const UPLOADS = 5;
const SECOND: ImageProvider = { name: 'second', cloud: 'nodepool-raw', label: 'other' };

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

/** Disk images from diskimage-builder to nodes, in the real Glance. */
export function builderCases(get: () => OpenStackHarness): void {
  /** What everything of a builder is back at when its images are no longer wanted. */
  async function emptied(images: BuiltImages, builder: ServiceProcess): Promise<void> {
    await images.reconfigure(builder, images.setup([{ ...REAL, images: [] }], []));
    await get().until(
      'nothing to be left of any image',
      async () => {
        const records = Promise.all(
          ['small', 'large'].map((name) => children(get().zk, `/nodepool/images/${name}/builds`)),
        );
        const [cloud, files, builds] = await Promise.all([images.inCloud(), images.files(), records]);
        return [...cloud, ...files, ...builds.flat().filter((name) => name !== 'lock')].length === 0;
      },
      PATIENCE_MS,
    );
    await builder.stop();
    await get().zk.deleteRecursive('/nodepool/images'); // names of images stay, as in Nodepool
  }

  async function oneNode(zuul: ZuulClient, label = 'small'): Promise<{ node: HeldNode; image: string }> {
    const [node] = await zuul.take(await zuul.submit([label]), PATIENCE_MS);
    if (!node) throw new Error('there is no node');
    const server = (await get().servers()).find(({ id }) => id === node.body['external_id']);
    return { node, image: textOf((server?.['image'] as ApiObject | undefined)?.['id']) };
  }

  describe('disk images', () => {
    beforeAll(() => ensureDebianPackages(PACKAGES), 300_000);

    it('are built, uploaded and launched from, and replaced twice, after which nothing of the first is left', async () => {
      const images = await BuiltImages.prepare(get());
      const setup = images.setup();
      const zuul = await get().newClient();
      const builder = await images.start(setup);
      const launcher = await get().launch(setup);
      const first = await images.whenUploaded();
      await expectTrueCopy(images, first.build, first.externalId);
      const before = await oneNode(zuul);
      await zuul.giveBack([before.node]);

      const [lines, used]: [string[], string[]] = [[], [before.image]];
      for (let round = 1; round <= 2; round += 1) {
        const known = await images.builds('small');
        const startedMs = Date.now();
        if (round === 1) await get().runNodepool(get().builderConfig(setup, 'builder'), ['image-build', 'small']);
        else await get().zk.create(REQUEST);
        const build = await images.whenBuilt(known);
        const [builtMs, toolMs] = [Date.now() - startedMs, await images.toolMs()];
        const { externalId } = await images.whenUploaded({ build });
        const uploadedMs = Date.now() - startedMs;
        const { node, image } = await oneNode(zuul);
        await zuul.giveBack([node]);
        used.push(image);
        expect(image).toBe(externalId);
        lines.push(
          `round ${round}: built after ${seconds(builtMs)}, of which the tool ${seconds(toolMs)}; in the cloud after ${seconds(uploadedMs)}`,
        );
        if (round === 2) expect(builtMs - toolMs).toBeLessThan(MOST_OVERHEAD_MS);
      }
      await images.whenGone(first.build);

      console.log(lines.join('\n'));
      expect(used[0]).toBe(first.externalId);
      expect(new Set(used).size).toBe(3);
      expect(await images.inCloud()).toHaveLength(2);
      await launcher.stop();
      await emptied(images, builder);
    }, 900_000);

    it('come to a provider that is added, converted, and go with one that is taken away as the guide says', async () => {
      const images = await BuiltImages.prepare(get());
      const zuul = await get().newClient();
      const builder = await images.start(images.setup());
      const { build } = await images.whenUploaded();
      const both = images.setup([REAL, SECOND]);

      await images.reconfigure(builder, both);
      await get().until('the first build to be in the second provider', async () =>
        (await images.uploads('small')).some((one) => one.provider === 'second' && one.build === build),
      );
      const raw = await images.whenUploaded({ provider: 'second', build });
      const shown = (await images.inCloud()).find(({ id }) => id === raw.externalId);
      expect(shown).toMatchObject({ disk_format: 'raw', status: 'active', nodepool_provider_name: 'second' });
      const launcher = await get().launch(both);
      const { node } = await oneNode(zuul, 'other');

      const limited = images.setup([REAL, { ...SECOND, maxServers: 0 }]);
      await get().reconfigure(launcher, limited);
      await images.reconfigure(builder, limited);
      await zuul.giveBack([node]);
      await get().until(
        'the nodes of the second provider to be gone',
        async () => (await get().servers()).length === 0,
      );
      const without = images.setup([REAL, { ...SECOND, maxServers: 0, images: [] }]);
      await get().reconfigure(launcher, without);
      await images.reconfigure(builder, without);
      await get().until('the images of the second provider to be gone', async () => {
        const [uploads, cloud] = await Promise.all([images.uploads('small'), images.inCloud()]);
        const isOther = (name: unknown): boolean => name === 'second';
        return (
          !uploads.some((one) => isOther(one.provider)) && !cloud.some((one) => isOther(one['nodepool_provider_name']))
        );
      });
      await get().reconfigure(launcher, images.setup());
      await images.reconfigure(builder, images.setup());

      const kept = await oneNode(zuul);
      await zuul.giveBack([kept.node]);
      expect((await images.uploads('small')).map(({ externalId }) => externalId)).toContain(kept.image);
      expect(await images.builds('small', 'failed')).toEqual([]);
      await launcher.stop();
      await emptied(images, builder);
    }, 900_000);

    it('are uploaded once, whether the builder is killed or Glance stopped in the middle of it', async () => {
      const slow = { method: 'PUT', path: '/file$', delay: 20, times: 1 };
      const images = await BuiltImages.prepare(get());
      const setup = images.setup();
      await get().cloud.setFault('http-glance', slow);
      const first = await images.start(setup);
      const isSending = async (): Promise<boolean> => {
        const [upload] = await images.uploads('small');
        return upload?.externalId !== undefined && (await get().cloud.isFaultUsed('http-glance'));
      };
      await get().until('data to be on its way', isSending, PATIENCE_MS);
      expect(await images.inCloud()).toHaveLength(1);
      await first.kill();

      await get().cloud.setFault('http-glance', slow);
      const second = await images.start(setup);
      await get().until('data to be on its way again', isSending, PATIENCE_MS);
      await get().cloud.stopService('glance-api');
      await second.whenLogged(/Upload failed/);
      await get().cloud.startService('glance-api');
      await images.whenUploaded();

      await get().until('the one image to be left', async () => (await images.inCloud()).length === 1, PATIENCE_MS);
      expect(await images.inCloud()).toMatchObject([{ status: 'active' }]);
      await emptied(images, second);
    }, 900_000);

    it('are uploaded at the speed of curl', async () => {
      const images = await BuiltImages.prepare(get());
      const setup = images.setup([{ ...REAL, cloud: 'nodepool-raw' }], ['large']);
      const builder = await images.start(setup);
      const times: { own: number[]; whole: number[]; curl: number[] } = { own: [], whole: [], curl: [] };
      let upload = await images.whenUploaded({ image: 'large' });
      const file = images.file('large', upload.build, 'raw');
      const { size } = await stat(file);
      for (let round = 0; round < UPLOADS; round += 1) {
        times.curl.push(await curlUpload(get(), file));
        const logged = builder.log.length;
        const args = ['--provider', 'real', '--image', 'large', '--build-id', upload.build, '--upload-id', upload.id];
        await get().runNodepool(get().builderConfig(setup, 'builder'), ['image-delete', ...args]);
        await builder.whenLogged(/Upload is ready/, logged, PATIENCE_MS);
        const said = builder.log.slice(logged);
        times.own.push(Number(/method=PUT path=\S+\/file status=204 ms=(\d+)/.exec(said)?.[1]));
        times.whole.push(Number(/Upload is ready.* durationMs=(\d+)/.exec(said)?.[1]));
        upload = await images.whenUploaded({ image: 'large' });
      }

      const rate = (ms: number): string => `${(size / 1_048_576 / (ms / 1_000)).toFixed(0)} MiB/s`;
      const share = middle(times.curl) / middle(times.own);
      console.log(
        `${size / 1_048_576} MiB, ${UPLOADS} times: curl ${times.curl.map(rate).join(', ')}; ` +
          `builder ${times.own.map(rate).join(', ')}, with all it does around it ${times.whole.map(rate).join(', ')}; share ${share.toFixed(2)}`,
      );
      await emptied(images, builder);
      expect(share).toBeGreaterThan(LEAST_SHARE);
    }, 900_000);
  });

  /** The image in Glance is the file on disk, with the properties that others find it by. */
  async function expectTrueCopy(images: BuiltImages, build: string, externalId: string): Promise<void> {
    const file = images.file('small', build, 'qcow2');
    const [md5, { size }] = await Promise.all([readFile(`${file}.md5`, 'utf8'), stat(file)]);
    const shown = await get().api.call('glance', 'GET', `/v2/images/${externalId}`);
    expect(shown).toMatchObject({
      ...{ status: 'active', disk_format: 'qcow2', size, checksum: md5.split(' ')[0], visibility: 'private' },
      ...{ nodepool_build_id: build, nodepool_provider_name: 'real', team: 'infra' },
    });
  }
}

/** Uploads a file to a new image with curl, and deletes it. @returns how long the upload took, ms */
async function curlUpload({ api }: OpenStackHarness, file: string): Promise<number> {
  const order = { name: 'curl', disk_format: 'raw', container_format: 'bare' };
  const id = textOf((await api.call('glance', 'POST', '/v2/images', order))['id']);
  const headers = [`X-Auth-Token: ${await api.token()}`, 'Content-Type: application/octet-stream'];
  const args = ['-sS', '--fail', '-T', file, '-o', '/dev/null', '-w', '%{time_total}'];
  const url = api.urlOf('glance', `/v2/images/${id}/file`);
  const { stdout } = await promisify(execFile)('curl', [...args, ...headers.flatMap((line) => ['-H', line]), url]);
  await api.call('glance', 'DELETE', `/v2/images/${id}`);
  return Number(stdout) * 1_000;
}
