import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { beforeAll, expect, it } from 'vitest';
import { buildPath, imageBuildRequestPath } from '@nodepool/zk-protocol';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

beforeAll(() =>
  get().write(
    'nodepool.yaml',
    `labels: []
build-log-dir: ${get().directory}
diskimages:
  - name: debian-12
    elements: [vm]
  - name: stopped
    pause: true
  - name: base
    abstract: true
`,
  ),
);

const requested = (image: string) => get().zk.exists(imageBuildRequestPath(image));

it('--follow shows the log of the build, and ends with 0 when it is ready', async () => {
  const log = get().file(`debian-12-${BUILD}.log`);
  const following = call('image-build', 'debian-12', '--follow');
  await expect.poll(() => requested('debian-12')).toBeDefined();
  await get().createBuild({ state: 'building', builder: 'nb01' });
  await writeFile(log, 'first line\n');
  await expect.poll(() => readFile(log, 'utf8')).toBe('first line\n');
  await appendFile(log, 'Exit code: 0\n');
  await get().createBuild({ state: 'ready', builder: 'nb01' });

  const { status, stdout, stderr } = await following;

  expect([status, stdout]).toEqual([0, 'first line\nExit code: 0\n']);
  expect(stderr).toMatch(/no builder is registered.*\n.*has started on nb01\n.*is ready after 00:00:00:\d\d: qcow2\n/);
  expect((await call('image-log', 'debian-12')).stdout).toBe(stdout);
  expect((await call('image-log', `debian-12-${BUILD}`)).stdout).toBe(stdout);
});

it('--follow leaves the request when it is interrupted', async () => {
  const following = call('image-build', 'debian-12', '--follow');
  await expect.poll(() => requested('debian-12')).toBeDefined();
  process.emit('SIGINT', 'SIGINT');

  expect(await following).toMatchObject({
    status: 130,
    stderr: expect.stringContaining('the request stays') as string,
  });
  expect(await requested('debian-12')).toBeDefined();
});

it('--follow ends with 1 and the reason when the build fails; builds of before do not count', async () => {
  await get().createBuild({ state: 'failed' }, '0000000001');
  const following = call('image-build', 'debian-12', '--follow');
  await expect.poll(() => requested('debian-12')).toBeDefined();
  await get().createBuild({ state: 'building', builder: 'nb01' }, '0000000002');
  await get().zk.setData(buildPath('debian-12', '0000000002'), '{"state": "failed", "error": "exit code 3"}');

  const { status, stderr } = await following;

  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/Build 0000000002 of debian-12 failed after .*: exit code 3/),
  ]);
});
