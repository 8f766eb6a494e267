import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { onTestEnd } from '../../../test/support/clients.js';
import { nodeFileSystem as fs, type StorageFile } from './file-system.js';

let path: string;
let file: StorageFile;

beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'file-system-'));
  onTestEnd(() => rmSync(directory, { recursive: true }));
  path = join(directory, 'file');
  file = await fs.open(path, 'create');
  onTestEnd(() => file.close());
});

it('writes at positions, and reads up to the end', async () => {
  await file.write(Buffer.from('hello'), 0);
  file.writeNow(Buffer.from('J'), 0);

  expect((await file.read(100, 0)).toString()).toBe('Jello');
  expect((await file.read(2, 3)).toString()).toBe('lo');
  await file.truncate(1);
  expect(await file.size()).toBe(1);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('rejects a sync of a file that was removed', async () => {
  await file.write(Buffer.from('x'), 0);
  await file.sync();

  await fs.remove(path);
  await fs.remove(path);

  await expect(file.sync()).rejects.toMatchObject({ code: 'ENOENT' });
});
