import { describe, expect, it } from 'vitest';
import { clientOf } from '../../test/support/recorded.js';

const NEVER = new AbortController().signal;

describe('the volume service', () => {
  it('reads volumes', async () => {
    const [volume] = await clientOf('volumes').volume.volumes(NEVER);

    expect(volume).toMatchObject({ sizeGb: 1, metadata: { a: 'b' } });
  });

  it('reads limits', async () => {
    expect(await clientOf('volume-limits').volume.limits(NEVER)).toMatchObject({
      volumes: expect.any(Number) as unknown,
    });
  });
});
