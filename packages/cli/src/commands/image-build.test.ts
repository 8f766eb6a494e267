import { beforeAll, expect, it } from 'vitest';
import { imageBuildRequestPath } from '@nodepool/zk-protocol';
import { listen } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

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

it('says that no builder is registered', async () => {
  expect(await call('image-build', 'debian-12')).toEqual({
    ...{ status: 0, stdout: '' },
    stderr: 'nodepool: no builder is registered; the build starts when one does\n',
  });
  expect((await call('image-status')).stderr).toBe(
    'nodepool: no builder is registered; the build starts when one does\n',
  );
  await get().zk.delete(imageBuildRequestPath('debian-12'));
});

it('requests a build, and renews a request that waits', async () => {
  await get().register('builder');
  expect(await call('image-build', 'debian-12')).toEqual({ status: 0, stdout: '', stderr: '' });
  const first = await requested('debian-12');

  expect(await call('image-build', 'debian-12')).toEqual({
    ...{ status: 0, stdout: '' },
    stderr: expect.stringMatching(
      /^nodepool: a request of debian-12 has waited for 00:00:00:\d\d; builders try again now\n$/,
    ) as string,
  });

  expect([first?.version, (await requested('debian-12'))?.version]).toEqual([0, 1]);
});

it('says what blocks a request that waits', async () => {
  const error = '"/images" has 59 MiB free, and the build needs 64 MiB: 5 MiB are missing';
  const work = { image: 'debian-12', work: 'build', build_id: '', provider: null, builder: 'nb01', elapsed: 60, error };
  const webUrl = await listen((_, response) => void response.end(JSON.stringify([{ ...work, phase: 'blocked' }])));
  await get().register('builder', { webUrl });
  await call('image-build', 'debian-12');

  const { stderr } = await call('image-build', 'debian-12');

  expect(stderr).toMatch(/^nodepool: a request of debian-12 has waited for 00:00:00:\d\d; this blocked it:$/m);
  expect(stderr).toMatch(/^debian-12: a build cannot begin on nb01, for [\d:]+: .* 5 MiB are missing$/m);
});

it('says that another build follows the one in progress', async () => {
  await get().register('builder');
  await get().createBuild({ state: 'building', builder: 'nb01' });

  expect((await call('image-build', 'debian-12')).stderr).toMatch(
    /^nodepool: build \w+ of debian-12 runs on nb01 for .*; another one follows it\n$/,
  );
});

it.each([
  ['nothing', 'Trying to build a non disk-image-builder image: nothing; known are debian-12, '],
  ['debian12', 'Trying to build a non disk-image-builder image: debian12, did you mean debian-12?'],
  ['stopped', 'Skipping build request for image stopped; paused'],
  ['base', 'base is abstract'],
])('does not ask for %s', async (image, message) => {
  const { status, stderr } = await call('image-build', image);

  expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  expect(await requested(image)).toBeUndefined();
});

it('image-status shows an image as paused that the configuration pauses', async () => {
  await get().zk.ensurePath(imageBuildRequestPath('stopped'));
  const { stdout } = await call('image-status', '--fields', 'image,paused', '--no-headers');

  expect(stdout).toContain('stopped  True\n');
});

it('reports that a paused image waits', async () => {
  await call('image-pause', 'debian-12');

  expect((await call('image-build', 'debian-12')).stderr).toContain('nodepool image-unpause debian-12');
});
