import { describe, expect, it } from 'vitest';
import { buildPath } from '@nodepool/zk-protocol';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('nodepool dib-image-delete', () => {
  it('marks the build of an image with dashes in its name', async () => {
    await get().createBuild({}, '0000000007');

    expect(await call('dib-image-delete', 'debian-12-0000000007')).toEqual({ status: 0, stdout: '', stderr: '' });

    const list = await call('dib-image-list', '--fields', 'id,state', '--no-headers');
    expect(list.stdout).toBe('debian-12-0000000007  deleting\n');
  });

  it('keeps a build in progress, and reports an unknown build', async () => {
    await get().createBuild({ state: 'building' });

    const busy = await call('dib-image-delete', `debian-12-${BUILD}`);
    const gone = await call('dib-image-delete', 'debian-12-9');

    expect(busy).toMatchObject({ status: 0, stdout: 'Cannot delete a build in progress\n' });
    expect(gone).toMatchObject({ status: 0, stdout: 'Build debian-12-9 not found\n' });
    expect((await call('dib-image-list', '--fields', 'state', '--no-headers')).stdout).toBe('building\n');
    expect((await call('dib-image-delete', 'debian-12-9', '--strict')).status).toBe(1);
  });

  it.each(['debian', 'debian-'])('refuses %j, which is no id of a build, with status 1', async (id) => {
    const { status, stderr } = await call('dib-image-delete', id);

    expect(status).toBe(1);
    expect(stderr).toBe(`nodepool: "${id}" is no id of a build: those are IMAGE-BUILD, as dib-image-list shows them\n`);
  });

  it('keeps unknown keys', async () => {
    await get().createBuild();
    const body = JSON.stringify({ state: 'ready', state_time: 1.5, builder: 'nb', formats: 'raw', theirs: { a: [1] } });
    await get().zk.setData(buildPath('debian-12', BUILD), body);

    await call('dib-image-delete', `debian-12-${BUILD}`);

    const { data } = await get().zk.getData(buildPath('debian-12', BUILD));
    expect(JSON.parse(data.toString())).toMatchObject({ state: 'deleting', builder: 'nb', theirs: { a: [1] } });
  });
});
