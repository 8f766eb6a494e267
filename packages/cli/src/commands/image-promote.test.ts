import { NEW_TRIAL, withTrial } from '@nodepool/core/service';
import { describe, expect, it } from 'vitest';
import { buildPath, encodeBuild, newBuild } from '@nodepool/zk-protocol';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('a build that is tried out', () => {
  async function createTriedBuild(more: object = {}): Promise<void> {
    const build = newBuild({ image: 'debian-12', id: BUILD }, { state: 'ready', formats: ['qcow2'] }, Date.now());
    const stored = withTrial({ ...build, raw: { ...build.raw, ...more } }, NEW_TRIAL);
    await get().zk.ensurePath(buildPath('debian-12', BUILD));
    await get().zk.setData(buildPath('debian-12', BUILD), encodeBuild(stored));
  }

  it('is shown with what is known of it', async () => {
    await createTriedBuild();
    const note =
      'is tried out with one launch at a time; 0 of its launches succeeded and 0 failed, of the build before it 0 and 0';

    const list = await call('dib-image-list', '--fields', 'canary', '--no-headers');
    const status = await call('image-status');
    const json = await call('image-status', '--json');

    expect(list.stdout).toBe(`${note}\n`);
    expect(status.stderr).toContain(`debian-12: build ${BUILD} ${note}\n`);
    expect(JSON.parse(json.stdout)).toMatchObject([{ image: 'debian-12', notes: [`build ${BUILD} ${note}`] }]);
  });

  it('is put into service by image-promote, repeatedly', async () => {
    await createTriedBuild({ theirs: [1] });

    const promoted = await call('image-promote', 'debian-12');
    const again = await call('image-promote', 'debian-12');

    const text = `Build ${BUILD} of debian-12 is in service`;
    expect(promoted).toEqual({ status: 0, stdout: `${text}: all launches get it from now on\n`, stderr: '' });
    expect(again).toEqual({ status: 0, stdout: `${text} already\n`, stderr: '' });
    const { data } = await get().zk.getData(buildPath('debian-12', BUILD));
    const record = JSON.parse(data.toString()) as object;
    expect(record).toMatchObject({ state: 'ready', formats: 'qcow2', theirs: [1] });
    expect(record).not.toHaveProperty('canary');
  });

  it('is not promoted before it is ready', async () => {
    await get().createBuild({ state: 'building' });

    expect(await call('image-promote', 'debian-12')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'nodepool: Image debian-12 has no build that is ready\n',
    });
  });
});
