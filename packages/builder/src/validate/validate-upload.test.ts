// Testing images with a node before launchers use them.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildPath,
  decodeNode,
  encodeBuild,
  imageBuildRequestPath,
  nodePath,
  NODES_ROOT,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { failedTests, withoutFailedTests } from '@nodepool/core/service';
import { builderConditions } from '../builder-conditions.js';
import { kill, Processes } from '../../test/support/processes.js';
import { MAKE_IMAGE, World } from '../../test/support/world.js';

const WAIT = { timeout: 60_000, interval: 20 };
const LIMITS = { timeout: 150_000 };
const READY = { builds: ['ready'], uploads: ['sky ready'] };
const UPLOADING = { builds: ['ready'], uploads: ['sky uploading'] };
const debian = (validate: string) =>
  `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n  validate: {${validate}}\n`;
const SSH = 'ssh: true';

let world: World | undefined;
const processes = new Processes();

afterEach(async () => {
  await processes.end();
  await world?.end();
  world = undefined;
});

async function start(validate: string, cloud = SSH): Promise<World> {
  const of = (world = await World.start({ diskimages: debian(validate), cloud }));
  await of.zk.ensurePath(NODES_ROOT);
  return of;
}

async function script(of: World, text: string): Promise<string> {
  const file = join(of.dir, 'check.sh');
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return file;
}

const states = (of: World, expected: typeof READY) =>
  vi.waitFor(() => expect(of.states('debian')).toEqual(expected), WAIT);

async function nodes(of: World): Promise<NodeRecord[]> {
  const ids = (await of.zk.getChildren(NODES_ROOT)).filter((name) => /^\d+$/.test(name)) as NodeId[];
  const found = await Promise.all(
    ids.map(async (id) => {
      const { data, stat } = await of.zk.getData(nodePath(id));
      return decodeNode(id, data, stat, 0);
    }),
  );
  return found.flatMap((node) => node ?? []);
}

/** Whether launchers have removed everything. */
const nothingLeft = (of: World) =>
  vi.waitFor(async () => {
    expect(await of.zk.getChildren(NODES_ROOT)).toEqual([]);
    expect([...of.cloud.cloud.list()]).toEqual([]);
  }, WAIT);

/** Waits until the cloud has the test node. */
const testing = (of: World) =>
  vi.waitFor(async () => {
    const [node] = await nodes(of);
    if (typeof node?.externalId !== 'string') throw new Error('no node tests an image');
    return node;
  }, WAIT);

describe('a new upload', () => {
  it('is not ready before a node has booted, shown its host keys and passed the command', LIMITS, async () => {
    const of = await start('pool: main, command: ./none');
    const check = await script(of, `echo "$@" > ${of.dir}/seen; until [ -e ${of.dir}/good ]; do sleep 0.05; done`);
    of.config = await of.reload({ diskimages: debian(`pool: main, command: ${check}`), cloud: SSH });
    await of.launcher();
    const builder = await of.builder();

    const node = await testing(of);
    const seen = await vi.waitFor(() => readFile(join(of.dir, 'seen'), 'utf8'), WAIT);

    expect(of.states('debian')).toEqual(UPLOADING);
    expect(builder.running.uploads).toMatchObject([{ image: 'debian', provider: 'sky', phase: 'test' }]);
    expect(node).toMatchObject({ provider: 'sky', pool: 'main', labels: ['small'], state: 'building' });
    const [stored] = await nodes(of);
    expect(stored?.hostKeys).toHaveLength(1);
    expect(seen.trim()).toBe(`sky ${stored?.interfaceIp} ${Number(stored?.connectionPort)} zuul`);

    await writeFile(join(of.dir, 'good'), '');

    await states(of, READY);
    const [upload] = [...(of.tree.images.get('debian')?.uploads.values() ?? [])];
    expect(upload?.raw).toMatchObject({ tested: true, duration: expect.any(Number) as number });
    await nothingLeft(of);
  });

  /** Starts with one good image in service and rebuilds it. @returns the cloud id of the good image */
  async function replaceGood(sky: string, before: (of: World) => void) {
    const of = await start('pool: main', SSH);
    await of.launcher();
    of.config = await of.reload({ diskimages: debian('pool: main'), cloud: SSH, sky });
    const builder = await of.builder();
    await states(of, READY);
    const [{ id: good = '' } = {}] = of.cloud.cloud.images();
    before(of);
    await of.zk.create(imageBuildRequestPath('debian'));
    return { of, good, builder };
  }

  it('that does not boot where its predecessor does is refused and not uploaded again', LIMITS, async () => {
    const { of, good } = await replaceGood('launch-retries: 1', () => undefined);
    await vi.waitFor(
      () => {
        const next = of.cloud.cloud.images().find(({ id }) => id !== good);
        if (!next) throw new Error('not uploaded yet');
        of.cloud.cloud.set('broken-images', [next.id]);
      },
      { ...WAIT, interval: 1 },
    );

    const refusal =
      /4 of 4 launches failed, of the build before it 0 of 4; chance explains that with a probability of 0\.39 %/;
    await vi.waitFor(() => expect(of.said.join('\n')).toMatch(refusal), WAIT);
    await vi.waitFor(() => {
      expect(of.states('debian')).toEqual({ builds: ['ready', 'ready'], uploads: ['sky ready'] });
      expect(of.cloud.cloud.images().map(({ id }) => id)).toEqual([good]);
    }, WAIT);
    const build = of.lastBuild('debian');
    expect(build && [...failedTests(build)]).toEqual([['sky', expect.stringMatching(refusal)]]);
    await nothingLeft(of);

    of.cloud.cloud.set('broken-images', []);
    expect(of.said.filter((text) => text === 'info Upload started')).toHaveLength(2);
    if (!build) throw new Error('no build');
    const { stat } = await of.zk.getData(buildPath('debian', build.id));
    await of.zk.setData(buildPath('debian', build.id), encodeBuild(withoutFailedTests(build)), stat.version);
    await states(of, { builds: ['ready', 'ready'], uploads: ['sky ready', 'sky ready'] });
  });

  it('is tested again without a new upload if the cloud boots no image', LIMITS, async () => {
    const { of } = await replaceGood('boot-timeout: 2\nlaunch-retries: 1', (it) =>
      it.cloud.cloud.set('failures.no-ssh', 1),
    );
    await vi.waitFor(
      () => expect(of.said.join('\n')).toContain('warn Image test is repeated: the launch failed'),
      WAIT,
    );
    await vi.waitFor(() => expect(of.states('debian').uploads).toEqual(['sky ready', 'sky uploading']), WAIT);

    of.cloud.cloud.set('failures.no-ssh', 0);

    await states(of, { builds: ['ready', 'ready'], uploads: ['sky ready', 'sky ready'] });
    expect(of.said.filter((text) => text === 'info Upload started')).toHaveLength(2);
    expect(of.said.join('\n')).not.toContain('Upload failed');
    await nothingLeft(of);
  });

  // Ends: UploadFails Test
  it('is not refused for lack of capacity, which is a condition until the test passes', LIMITS, async () => {
    const { of, builder } = await replaceGood('launch-retries: 1', (it) => it.cloud.cloud.set('failures.capacity', 1));
    await vi.waitFor(
      () => expect(of.said.join('\n')).toContain('warn Image test is repeated: the launch failed'),
      WAIT,
    );

    const conditions = () => builderConditions(builder, 'nb01', Date.now());
    await vi.waitFor(
      () =>
        expect(conditions()).toMatchObject([
          {
            ...{ name: 'debian/sky', type: 'UploadFails', reason: 'Test', evidence: { labels: 'small' } },
            message: expect.stringMatching(
              /^the test of its upload to provider "sky" fails and is repeated: .+/,
            ) as string,
          },
        ]),
      WAIT,
    );
    of.cloud.cloud.set('failures.capacity', 0);

    await states(of, { builds: ['ready', 'ready'], uploads: ['sky ready', 'sky ready'] });
    expect(of.said.filter((text) => text === 'info Upload started')).toHaveLength(2);
    await vi.waitFor(() => expect(conditions()).toEqual([]), WAIT);
  });

  it('is refused by the command, and its output is reported', LIMITS, async () => {
    const of = await start('command: ./none');
    const check = await script(of, 'echo "python is missing"; exit 3');
    of.config = await of.reload({ diskimages: debian(`command: ${check}`), cloud: SSH });
    await of.launcher();
    await of.builder();

    await vi.waitFor(
      () =>
        expect(of.said.join('\n')).toMatch(
          /command of validate "\S+" ended with exit code 3; it said: python is missing/,
        ),
      WAIT,
    );
    await nothingLeft(of);
  });

  it('needs no test in a provider without such a pool', LIMITS, async () => {
    const of = await start('pool: elsewhere');
    await of.builder();

    await states(of, READY);

    expect(of.said).toContain('info Image is not tested here: no label fits');
    expect(await nodes(of)).toEqual([]);
  });
});

describe('a builder that is killed while it tests an image', () => {
  it('leaves neither node nor instance; the next one tests the same image again', LIMITS, async () => {
    const of = await start('command: ./none');
    const check = await script(of, `until [ -e ${of.dir}/good ]; do sleep 0.05; done`);
    of.config = await of.reload({ diskimages: debian(`command: ${check}`), cloud: SSH });
    await of.launcher();
    const child = await processes.builder(of);
    const { id } = await testing(of);
    const [lost] = of.cloud.cloud.images();
    await kill(child);
    await nothingLeft(of);
    expect(of.states('debian')).toEqual(UPLOADING);

    await writeFile(join(of.dir, 'good'), '');
    await of.builder();

    await states(of, READY);
    expect(of.cloud.cloud.images().map((image) => image.id)).toEqual([lost?.id]);
    expect(of.cloud.cloud.receivedImages).toBe(1);
    await nothingLeft(of);
    expect(id).not.toBe('');
  });
});

describe('a builder that is stopped while it tests an image', () => {
  it('leaves the image to the next one, which tests it without another upload', LIMITS, async () => {
    const of = await start('command: ./none');
    const check = await script(of, `until [ -e ${of.dir}/good ]; do sleep 0.05; done`);
    of.config = await of.reload({ diskimages: debian(`command: ${check}`), cloud: SSH });
    await of.launcher();
    const builder = await of.builder();
    await testing(of);
    const before = of.cloud.cloud.images();
    await builder.drain(10_000);
    await builder.stop();
    await builder.join();
    await nothingLeft(of);
    expect(of.states('debian')).toEqual(UPLOADING);

    await writeFile(join(of.dir, 'good'), '');
    await of.builder();

    await states(of, READY);
    expect(of.cloud.cloud.images()).toEqual(before);
    expect(of.cloud.cloud.receivedImages).toBe(1);
    await nothingLeft(of);
  });
});
