import { describe, expect, it } from 'vitest';
import { IMAGES_ROOT, lastPart } from '@nodepool/zk-protocol';
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

describe('nodepool import-image-data', () => {
  it('leaves the numbers of the data to it: the next upload has a higher one', async () => {
    await importData(DATA);
    const path = await get().zk.create(`${UPLOADS}/`, undefined, { sequential: true });

    expect(Number(lastPart(path))).toBeGreaterThan(4);
    expect((await get().zk.getChildren(UPLOADS)).sort().slice(0, 2)).toEqual(['0000000002', '0000000004']);
  });

  it('may be imported again over existing data', async () => {
    await importData(DATA);
    await importData({ ...DATA, [`${UPLOADS}/0000000002`]: '{"state": "deleting"}' });

    expect((await call('image-list', '--fields', 'upload_id,state', '--no-headers')).stdout).toBe(
      '0000000002  deleting\n0000000004  ready\n',
    );
  });

  it.each([
    ['half a file', '{"/nodepool/ima', /data.json holds no image data: .*JSON/],
    ['a list', [], /must be a JSON object/],
    ['the body of a build that is no JSON', { [BUILD]: '{"state"' }, /nothing was imported: .*5c14/],
    ['a body that is no text', { [BUILD]: { state: 'ready' } }, /its body is not a string/],
    [
      'a node',
      { '/nodepool/nodes/0000000001': '{"state": "ready"}' },
      /path is not that of a pause flag, build or upload/,
    ],
    [
      'a path that climbs',
      { '/nodepool/images/../builds/1': '{"state": "ready"}' },
      /path is not that of a pause flag/,
    ],
    [
      'an upload without a number',
      { [`${UPLOADS}/two`]: '{"state": "ready"}' },
      /"two" is not the number of an upload/,
    ],
    [
      'a number too large to count to',
      { [`${UPLOADS}/2147483646`]: '{"state": "ready"}' },
      /not the number of an upload/,
    ],
    ['a huge body', { [BUILD]: JSON.stringify({ state: 'x'.repeat(1_000_000) }) }, /1000012 bytes/],
  ])('is not imported from %s', async (_case, data, message) => {
    const whole = Array.isArray(data) || typeof data === 'string' ? data : { ...DATA, ...data };

    expect(await importData(whole)).toMatchObject({ status: 1, stderr: expect.stringMatching(message) as string });
    expect(await get().zk.exists(IMAGE)).toBeUndefined();
  });

  it('needs a file to read', async () => {
    expect(await call('import-image-data', get().file('missing.json'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Cannot read') as string,
    });
  });
});
