import { expect, it } from 'vitest';
import { MemoryFileSystem } from '../../../test/server/memory-file-system.js';
import { AcknowledgedFile, acknowledgedPath, readAcknowledged } from './acknowledged.js';

const DIRECTORY = '/data';
const PATH = acknowledgedPath(DIRECTORY);
const at = (zxid: number) => ({ zxid, logZxid: 1, offset: zxid * 100 });

async function written(...zxids: number[]): Promise<MemoryFileSystem> {
  const fs = new MemoryFileSystem();
  const [first = 0, ...later] = zxids;
  const file = await AcknowledgedFile.open(fs, DIRECTORY, at(first));
  for (const zxid of later) file.note(at(zxid));
  await file.close();
  return fs;
}

it('returns the last position, also after the file was opened again', async () => {
  const fs = await written(1, 2, 3);
  expect(await readAcknowledged(fs, DIRECTORY)).toMatchObject(at(3));

  const again = await AcknowledgedFile.open(fs, DIRECTORY, at(4));
  await again.close();

  expect(await readAcknowledged(fs, DIRECTORY)).toMatchObject(at(4));
});

it('falls back to the previous position when the write of the last one was torn', async () => {
  const fs = await written(1, 2, 3);
  const content = await fs.readFile(PATH);
  for (const slot of [0, 64]) {
    const damaged = Buffer.from(content);
    damaged[slot + 20] = 0xff;
    fs.overwrite(PATH, damaged);

    const found = await readAcknowledged(fs, DIRECTORY);

    expect([2, 3]).toContain(found?.zxid);
  }
});

it('knows no position without a file, or with an unreadable one', async () => {
  expect(await readAcknowledged(new MemoryFileSystem(), DIRECTORY)).toBeUndefined();

  const fs = await written(1);
  fs.overwrite(PATH, Buffer.alloc(30));

  expect(await readAcknowledged(fs, DIRECTORY)).toBeUndefined();
});

it('keeps positions beyond 32 bits', async () => {
  const fs = await written(2 ** 40 + 1);

  expect(await readAcknowledged(fs, DIRECTORY)).toMatchObject({ zxid: 2 ** 40 + 1 });
});
