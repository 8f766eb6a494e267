import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureEmbeddedLogin, removeEmbeddedLogin } from './embedded-login.js';

describe('login of the embedded server', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-login-'));
    file = join(dir, 'embedded-zookeeper.login');
  });
  afterEach(() => rm(dir, { recursive: true }));

  const modeOf = async () => ((await stat(file)).mode & 0o777).toString(8);

  it('is random, readable only by the owner, and stable across starts', async () => {
    const first = await ensureEmbeddedLogin(dir, 'owner');
    const second = await ensureEmbeddedLogin(dir, 'owner');
    const elsewhere = await mkdtemp(join(tmpdir(), 'nodepool-login-'));
    const other = await ensureEmbeddedLogin(elsewhere, 'owner');
    await rm(elsewhere, { recursive: true });

    expect(first).toMatch(/^nodepool:[0-9a-f]{48}$/);
    expect(second).toBe(first);
    expect(await readFile(file, 'utf8')).toBe(`${first}\n`);
    expect(other).not.toBe(first);
    expect(await modeOf()).toBe('600');
  });

  it('can be made readable by the group, and private again', async () => {
    const login = await ensureEmbeddedLogin(dir, 'group');
    const asGroup = await modeOf();
    const again = await ensureEmbeddedLogin(dir, 'owner');

    expect([asGroup, await modeOf()]).toEqual(['640', '600']);
    expect(again).toBe(login);
  });

  it('can be removed repeatedly', async () => {
    await ensureEmbeddedLogin(dir, 'owner');
    await removeEmbeddedLogin(dir);
    await removeEmbeddedLogin(dir);

    await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is rejected if the file has other content, with a remedy', async () => {
    await writeFile(file, 'no login');

    await expect(ensureEmbeddedLogin(dir, 'owner')).rejects.toMatchObject({
      code: 'NODEPOOL_STATE_DIR',
      message: expect.stringMatching(/embedded-zookeeper\.login.*remove it and restart the launcher/) as string,
    });
  });
});
