import { describe, expect, it } from 'vitest';
import { clientOf } from '../../test/support/recorded.js';

const NEVER = new AbortController().signal;

describe('the image service', () => {
  it('reads images', async () => {
    const [image] = await clientOf('images').image.images({}, NEVER);

    expect(image).toMatchObject({ name: 'test-image', status: 'active', hashAlgorithm: 'sha512' });
  });
});
