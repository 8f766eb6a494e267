import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { IMAGES_ROOT } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);
const IMAGE = `${IMAGES_ROOT}/img1`;
const BUILD = `${IMAGE}/builds/5c14c8a6227f468a8c6d7b5734de7a92`;
const UPLOADS = `${BUILD}/providers/cloud-a/images`;
const DATA = {
  [BUILD]:
    '{"state": "ready", "state_time": 1726600000.25, "builder": "nb01", "formats": "qcow2,raw", "username": "zuul"}',
  [`${UPLOADS}/0000000002`]: '{"state": "ready", "state_time": 1726600000.25, "external_id": "9a8b"}',
  [`${UPLOADS}/0000000004`]: '{"state": "ready", "state_time": 1726600000.25, "external_id": "9a8c"}',
  [`${IMAGE}/pause`]: '',
};

async function importData(data: unknown) {
  await get().write('data.json', typeof data === 'string' ? data : JSON.stringify(data));
  return call('import-image-data', get().file('data.json'));
}

const read = async (name: string): Promise<unknown> => JSON.parse(await readFile(get().file(name), 'utf8'));

describe('nodepool export-image-data', () => {
  it('is imported and exported unchanged, into a file that only its owner can read', async () => {
    expect(await importData(DATA)).toEqual({ status: 0, stdout: '', stderr: '' });
    await get().write('out.json', 'x'.repeat(10_000));
    await chmod(get().file('out.json'), 0o644);

    expect(await call('export-image-data', get().file('out.json'))).toEqual({ status: 0, stdout: '', stderr: '' });

    expect(await read('out.json')).toEqual(DATA);
    expect((await stat(get().file('out.json'))).mode & 0o777).toBe(0o600);
    expect((await readdir(get().directory)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('is an empty object when there are no images', async () => {
    await call('export-image-data', get().file('none.json'));

    expect(await read('none.json')).toEqual({});
  });

  it.each(['missing/out.json', 'state'])('says when it cannot be written to %s', async (name) => {
    expect(await call('export-image-data', get().file(name))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`Cannot write ${get().file(name)}: `) as string,
    });
  });

  it('reports a full disk', async () => {
    await importData(DATA);

    expect((await call('export-image-data', '/dev/full')).stderr).toContain('ENOSPC');
  });
});
