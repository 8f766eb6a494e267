import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readContents } from './manifest.js';

const ID = 'a'.repeat(32);
const BASE = `debian-${ID}`;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'manifest-test-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function write(name: string, text: string): Promise<void> {
  const manifests = join(dir, `${BASE}.d`, 'dib-manifests');
  await mkdir(manifests, { recursive: true });
  await writeFile(join(manifests, name), text);
}

describe('the contents of a build', () => {
  it('are the sizes of its files, its packages and its repositories', async () => {
    await writeFile(join(dir, `${BASE}.qcow2`), '12345');
    await writeFile(join(dir, `${BASE}.qcow2.md5`), 'sum');
    await write(
      `dib-manifest-dpkg-${BASE}`,
      '{"packages": [\n{"package": "libc6:amd64","arch": "amd64","version": "2.36","status": "ii "},\n' +
        '{"package": "held","arch": "all","version": "1","status": "hi "},\n' +
        '{"package": "old","arch": "all","version": "1","status": "rc "}, {"package": 7}, null\n]}',
    );
    await write(`dib-manifest-git-${BASE}`, 'pip git /opt/pip https://example.org/pip 0123abc\n\nodd line\n');
    await write('dib_environment', 'declare -x PASSWORD="secret"');

    expect(await readContents(dir, 'debian', ID)).toEqual({
      sizes: { qcow2: 5 },
      packages: { 'libc6:amd64': '2.36', held: '1' },
      repositories: { pip: '0123abc' },
    });
  });

  it('have no lists without manifests, and an empty list for a truncated manifest', async () => {
    await writeFile(join(dir, `${BASE}.raw`), '');
    expect(await readContents(dir, 'debian', ID)).toEqual({ sizes: { raw: 0 }, packages: null, repositories: null });

    await write(`dib-manifest-dpkg-${BASE}`, '{"packages": [');
    expect(await readContents(dir, 'debian', ID)).toMatchObject({ packages: {} });
  });

  it('are unknown if the build is on another machine', async () => {
    await writeFile(join(dir, `${BASE}.raw`), '');
    expect(await readContents(dir, 'other', ID)).toBeUndefined();
    expect(await readContents(dir, 'debian', 'b'.repeat(32))).toBeUndefined();
  });
});
