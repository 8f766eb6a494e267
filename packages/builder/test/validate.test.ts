// Images that are tested with a node before launchers may use them.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  decodeNode,
  imageBuildRequestPath,
  nodePath,
  NODES_ROOT,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { kill, Processes } from './support/processes.js';
import { MAKE_IMAGE, World } from './support/world.js';

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

/** Launchers have taken everything away. */
const nothingLeft = (of: World) =>
  vi.waitFor(async () => {
    expect(await of.zk.getChildren(NODES_ROOT)).toEqual([]);
    expect([...of.cloud.cloud.state.instances]).toEqual([]);
  }, WAIT);

/** Waits until the node of the test is in the cloud. */
const testing = (of: World) =>
  vi.waitFor(async () => {
    const [node] = await nodes(of);
    if (typeof node?.externalId !== 'string') throw new Error('no node tests an image');
    return node;
  }, WAIT);

describe('a new upload', () => {
  it('is not ready before a node of it has booted, shown its keys and satisfied the command', LIMITS, async () => {
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
    await nothingLeft(of);
  });

  it('that does not answer is removed, and the image before it stays in service', LIMITS, async () => {
    const of = await start('pool: main', 'ssh: true');
    await of.launcher();
    of.config = await of.reload({
      diskimages: debian('pool: main'),
      cloud: SSH,
      sky: 'boot-timeout: 5\nlaunch-retries: 1',
    });
    const builder = await of.builder();
    await states(of, READY);
    const [good] = of.cloud.cloud.images();

    of.cloud.cloud.set('failures.no-ssh', 1);
    await of.zk.create(imageBuildRequestPath('debian'));

    await vi.waitFor(
      () => expect(of.said.join('\n')).toMatch(/Upload failed: image debian, build \w+, has failed its test/),
      WAIT,
    );
    // It is tried again, and fails again: what is there in between is what counts.
    await vi.waitFor(() => {
      expect(of.states('debian')).toEqual({ builds: ['ready', 'ready'], uploads: ['sky ready'] });
      expect(of.cloud.cloud.images()).toEqual([good]);
      expect(builder.failingUploads).toMatchObject([{ image: 'debian', provider: 'sky' }]);
      expect(builder.failingUploads[0]?.error).toContain('has failed its test');
    }, WAIT);
    await nothingLeft(of);
  });

  it('is refused by the command, with what the command said', LIMITS, async () => {
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
  it('leaves neither node, instance nor image; the next one begins anew', LIMITS, async () => {
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
    await vi.waitFor(() => expect(of.cloud.cloud.images().map((image) => image.id)).not.toContain(lost?.id), WAIT);
    await nothingLeft(of);
    expect(id).not.toBe('');
  });
});
