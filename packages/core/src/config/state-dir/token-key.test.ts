import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureTokenKey, readTokenKey, tokenKeyFile } from './token-key.js';

describe('the key for tokens of a state directory', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-key-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('is made once, by the launcher, and only its owner may read it', async () => {
    await expect(readTokenKey(dir)).rejects.toMatchObject({
      code: 'NODEPOOL_STATE_DIR',
      message: expect.stringMatching(
        /lease-token\.key, the key that signs tokens: ENOENT.*; the launcher makes it at its start/,
      ) as string,
    });

    const key = await ensureTokenKey(dir);

    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await ensureTokenKey(dir)).toBe(key);
    expect(await readTokenKey(dir)).toBe(key);
    expect((await stat(tokenKeyFile(dir))).mode & 0o777).toBe(0o600);
  });

  it('is not replaced when it is damaged, since tokens would be lost', async () => {
    await writeFile(tokenKeyFile(dir), '');

    await expect(ensureTokenKey(dir)).rejects.toThrow('remove it and restart the launcher');
  });
});
