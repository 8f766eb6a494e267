import { describe, expect, it } from 'vitest';
import { imagePausePath, imageBuildRequestPath } from '@nodepool/zk-protocol';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('listings of images', () => {
  it.each([
    [
      'image-list',
      '| Build ID | Upload ID | Provider | Image | Provider Image Name | Provider Image ID | State | Age |',
    ],
    ['dib-image-list', '| ID | Image | Builder | Formats | State | Age |'],
    ['image-status', '| Image | Paused | Build Request | Build Request Age |'],
  ])('%s is an empty table when there is nothing', async (command, header) => {
    const { status, stdout } = await call(command);

    expect(status).toBe(0);
    expect(stdout.split('\n')).toHaveLength(5);
    expect(stdout.split('\n')[1]).toBe(header);
  });

  it('show builds, uploads and what is asked for', async () => {
    await get().createBuild({ builder: 'nb01' });
    await get().createUpload();
    await get().zk.create(imageBuildRequestPath('debian-12'));

    const builds = JSON.parse((await call('dib-image-list', '--json')).stdout) as unknown;
    const uploads = await call('image-list', '--fields', 'upload_id,provider,external_id,state', '--no-headers');
    const status = await call('image-status', '--fields', 'image,paused,build_request', '--no-headers');

    expect(builds).toMatchObject([
      { id: `debian-12-${BUILD}`, build_id: BUILD, builder: 'nb01', formats: ['qcow2'], error: null },
    ]);
    expect(uploads.stdout).toBe('0000000000  sky  x1  ready\n');
    expect(status.stdout).toBe('debian-12  False  pending\n');
  });

  it('say which of two ready uploads new launches use', async () => {
    await get().createUpload({ externalId: 'x1' }, 'a'.repeat(32));
    await get().createUpload({ externalId: 'x2' }, 'b'.repeat(32));

    const { stdout } = await call('image-list', '--fields', 'external_id,serves', '--no-headers');
    const json = JSON.parse((await call('image-list', '--json')).stdout) as unknown;

    expect(stdout).toBe('x1  -\nx2  serves\n');
    const [first, second] = [{ build_id: 'a'.repeat(32) }, { build_id: 'b'.repeat(32) }];
    expect(json).toMatchObject([
      { ...first, serves: false },
      { ...second, serves: true },
    ]);
  });

  it('show the builds of a paused image as paused', async () => {
    await get().createBuild();
    await get().zk.create(imagePausePath('debian-12'));

    expect((await call('dib-image-list', '--fields', 'state', '--no-headers')).stdout).toBe('paused\n');
  });
});
