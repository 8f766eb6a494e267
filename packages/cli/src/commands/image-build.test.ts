import { beforeAll, expect, it } from 'vitest';
import { imageBuildRequestPath } from '@nodepool/zk-protocol';
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

it('asks for a build, once', async () => {
  expect(await call('image-build', 'debian-12')).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(await call('image-build', 'debian-12')).toMatchObject({ status: 0 });

  expect(await requested('debian-12')).toBeDefined();
});

it.each([
  ['nothing', 'Trying to build a non disk-image-builder image: nothing'],
  ['stopped', 'Skipping build request for image stopped; paused'],
  ['base', 'base is abstract'],
])('does not ask for %s', async (image, message) => {
  const { status, stderr } = await call('image-build', image);

  expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  expect(await requested(image)).toBeUndefined();
});

it('reports that a paused image waits', async () => {
  await call('image-pause', 'debian-12');

  expect((await call('image-build', 'debian-12')).stderr).toContain('nodepool image-unpause debian-12');
});
