import { describe, expect, it } from 'vitest';
import { imagePausePath } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('nodepool image-pause and image-unpause', () => {
  it('pause and resume repeatedly, also an unknown image', async () => {
    for (const times of [1, 2]) expect([times, (await call('image-pause', 'new-one')).status]).toEqual([times, 0]);
    expect(await get().zk.exists(imagePausePath('new-one'))).toBeDefined();

    for (const times of [1, 2]) expect([times, (await call('image-unpause', 'new-one')).status]).toEqual([times, 0]);
    expect(await get().zk.exists(imagePausePath('new-one'))).toBeUndefined();
  });

  it('refuse a name that cannot be one', async () => {
    expect(await call('image-pause', 'a/b')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"a/b"') as string,
    });
  });
});
