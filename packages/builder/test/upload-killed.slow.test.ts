// The builder program, killed at five moments of an upload: the next one sends nothing that the cloud has.
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NODES_ROOT, type UploadRecord } from '@nodepool/zk-protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { kill, Processes } from './support/processes.js';
import { MAKE_IMAGE, World } from './support/world.js';

const WAIT = { timeout: 90_000, interval: 5 };
const LIMITS = { timeout: 240_000 };

let world: World | undefined;
const processes = new Processes();

afterEach(async () => {
  await processes.end();
  await world?.end();
  world = undefined;
});

interface Moment {
  /** Settings of the cloud until the builder is killed. */
  readonly cloud?: Readonly<Record<string, number>>;
  /** Programs that wait until the builder was killed. */
  readonly waits?: 'hook' | 'test';
  isReached(of: World, upload: UploadRecord | undefined): boolean;
  /** Images sent by both builders. */
  readonly sent: number;
  readonly isTaken: boolean;
}

const isWhole = ({ cloud }: World) => cloud.cloud.images().some(({ partial }) => partial !== true);
const hasRun = ({ dir }: World, name: string) => existsSync(join(dir, name));

const MOMENTS: Readonly<Record<string, Moment>> = {
  'before it knows the id of the image': {
    cloud: { 'answer-time': 3_600 },
    isReached: (of, upload) => upload?.externalId === null && of.cloud.cloud.images().length === 1,
    ...{ sent: 1, isTaken: false },
  },
  'while it sends the data': {
    cloud: { 'upload-time': 3_600 },
    isReached: (_of, upload) => typeof upload?.externalId === 'string',
    ...{ sent: 1, isTaken: false },
  },
  'before it hears that the image is complete': {
    cloud: { 'answer-time': 1.5 },
    isReached: isWhole,
    ...{ sent: 1, isTaken: true },
  },
  'while the hook runs': {
    waits: 'hook',
    isReached: (of) => hasRun(of, 'hook-runs'),
    ...{ sent: 1, isTaken: true },
  },
  'while a node tests the image': {
    waits: 'test',
    isReached: (of) => hasRun(of, 'test-runs'),
    ...{ sent: 1, isTaken: true },
  },
};

async function program({ dir }: World, name: 'hook' | 'test', waits: boolean): Promise<string> {
  const file = join(dir, `${name}.sh`);
  const wait = waits ? `; until [ -e ${dir}/go-on ]; do sleep 0.05; done` : '';
  await writeFile(file, `#!/bin/sh\ntouch ${dir}/${name}-runs${wait}\n`);
  await chmod(file, 0o755);
  return file;
}

it.each(Object.entries(MOMENTS))('a builder that is killed %s', LIMITS, async (_name, moment) => {
  const diskimage = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n`;
  const of = (world = await World.start({ diskimages: diskimage }));
  await of.zk.ensurePath(NODES_ROOT);
  const hook = await program(of, 'hook', moment.waits === 'hook');
  const test = await program(of, 'test', moment.waits === 'test');
  await of.reload({
    diskimages: `${diskimage}  validate: {command: ${test}}\n`,
    ...{ sky: `post-upload-hook: ${hook}`, cloud: 'ssh: true' },
  });
  await of.launcher();
  for (const [name, value] of Object.entries(moment.cloud ?? {})) of.cloud.cloud.set(name, value);
  const child = await processes.builder(of);
  await vi.waitFor(() => {
    const [upload] = [...(of.tree.images.get('debian')?.uploads.values() ?? [])];
    expect(moment.isReached(of, upload)).toBe(true);
  }, WAIT);

  await kill(child);

  const [before] = of.cloud.cloud.images();
  for (const name of Object.keys(moment.cloud ?? {})) of.cloud.cloud.set(name, 0);
  await writeFile(join(of.dir, 'go-on'), '');
  await processes.builder(of);
  await vi.waitFor(() => expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: ['sky ready'] }), WAIT);
  const images = of.cloud.cloud.images();
  expect(images).toHaveLength(1);
  expect(images[0]?.id === before?.id).toBe(moment.isTaken);
  expect(of.cloud.cloud.receivedImages).toBe(moment.sent);
  await vi.waitFor(async () => {
    expect(await of.zk.getChildren(NODES_ROOT)).toEqual([]);
    expect([...of.cloud.cloud.list()]).toEqual([]);
  }, WAIT);
});
