import { describe, expect, it } from 'vitest';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('nodepool image-delete', () => {
  const remove = (uploadId: string, ...more: string[]) =>
    call(
      'image-delete',
      '--provider',
      'sky',
      '--image',
      'debian-12',
      '--build-id',
      BUILD,
      '--upload-id',
      uploadId,
      ...more,
    );
  const states = async () => (await call('image-list', '--fields', 'state', '--no-headers')).stdout;

  it('marks the upload', async () => {
    await get().createUpload();

    expect(await remove('0000000000')).toMatchObject({ status: 0, stdout: '' });
    expect(await states()).toBe('deleting\n');
  });

  it('says that the newest build is uploaded again, and what takes it out of service', async () => {
    await get().createUpload();
    const { stderr } = await remove('0000000000');

    expect(stderr).toContain(
      `nodepool: if build ${BUILD} is the newest of debian-12, its builder uploads it again at once`,
    );
    expect(stderr).toContain(
      `nodepool image-rollback debian-12; to delete it everywhere: nodepool dib-image-delete debian-12-`,
    );
    expect((await remove('0000000000')).stderr).toBe('');
  });

  it('keeps an upload in progress, and reports an unknown upload', async () => {
    await get().createUpload({ state: 'uploading' });

    expect((await remove('0000000000')).stdout).toBe('Cannot delete because image upload in progress\n');
    expect((await remove('0000000009')).stdout).toBe('Image upload not found\n');
    expect(await states()).toBe('uploading\n');
  });

  it('needs all four of its options', async () => {
    expect(await call('image-delete', '--provider', 'sky')).toMatchObject({ status: 2 });
  });
});
