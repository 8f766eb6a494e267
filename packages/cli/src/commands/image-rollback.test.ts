import { describe, expect, it } from 'vitest';
import { buildPath, imagePausePath, uploadPath } from '@nodepool/zk-protocol';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('nodepool image-rollback', () => {
  const OLD = '0d14c8a6227f468a8c6d7b5734de7a92';

  const createOlder = () => get().createBuild({}, OLD, Date.now() - 3_600_000);

  async function stateOf(path: string): Promise<unknown> {
    const { data } = await get().zk.getData(path);
    return (JSON.parse(data.toString()) as { state: unknown }).state;
  }

  it('refuses where nothing would be left', async () => {
    expect(await call('image-rollback', 'debian-12')).toMatchObject({
      stderr: expect.stringContaining('has no build that is ready') as string,
    });
    await get().createBuild();
    await get().createUpload();
    expect((await call('image-rollback', 'debian-12')).stderr).toContain('there is nothing to go back to');
    await createOlder();

    const { status, stderr } = await call('image-rollback', 'debian-12');

    expect(status).not.toBe(0);
    expect(stderr).toContain(`Build ${OLD} of debian-12 is not ready in sky: there would be no image there`);
    expect(await get().zk.exists(imagePausePath('debian-12'))).toBeUndefined();
    expect(await stateOf(buildPath('debian-12', BUILD))).toBe('ready');
  });

  it('takes build and uploads out of service, and pauses the image', async () => {
    const { zk } = get();
    await createOlder();
    await get().createUpload({}, OLD);
    await get().createBuild();
    await get().createUpload();

    const { status, stdout } = await call('image-rollback', 'debian-12');

    expect(status).toBe(0);
    expect(stdout).toContain(`Build ${OLD} of debian-12 serves; build ${BUILD} is being removed`);
    expect(await zk.exists(imagePausePath('debian-12'))).toBeDefined();
    expect(await stateOf(buildPath('debian-12', BUILD))).toBe('deleting');
    expect(await stateOf(uploadPath('debian-12', BUILD, 'sky', '0000000000'))).toBe('deleting');
    expect((await call('image-status')).stderr).toContain(
      `debian-12: paused: build ${BUILD} was withdrawn with "nodepool image-rollback"\n`,
    );
    expect(await stateOf(buildPath('debian-12', OLD))).toBe('ready');
    expect(await stateOf(uploadPath('debian-12', OLD, 'sky', '0000000000'))).toBe('ready');
  });
});
