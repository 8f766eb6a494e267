import { expect, it } from 'vitest';
import { MemoryFileSystem } from '../../../test/server/memory-file-system.js';
import { contentOf, createRequest, ModelDriver } from '../../../test/server/model-driver.js';
import { ServerModel } from '../model/server-model.js';
import { MalformedPacketError } from '../wire/jute-reader.js';
import { readSnapshot, writeSnapshot } from './snapshot-file.js';
import { SnapshotSource } from './snapshot-source.js';

const PATH = '/data/snapshot';

async function snapshotOf(driver: ModelDriver): Promise<{ fs: MemoryFileSystem; content: Buffer }> {
  const fs = new MemoryFileSystem();
  await writeSnapshot(fs, PATH, new SnapshotSource(driver.model));
  return { fs, content: await fs.readFile(PATH) };
}

function filledDriver(): ModelDriver {
  const driver = new ModelDriver();
  const client = driver.connect();
  driver.apply(client, createRequest('/a'), createRequest('/a/e', 1), createRequest('/big', 0, 'x'.repeat(400_000)));
  return driver;
}

it('restores counters, sessions and znodes', async () => {
  const driver = filledDriver();
  const { fs } = await snapshotOf(driver);
  const model = new ServerModel();

  await readSnapshot(fs, PATH, model);

  expect(contentOf(model)).toEqual(contentOf(driver.model));
});

it('rejects a snapshot that is cut off anywhere between its parts, or damaged', async () => {
  const { fs, content } = await snapshotOf(filledDriver());
  const damaged = Buffer.from(content);
  damaged[content.length - 1] = (damaged[content.length - 1] ?? 0) ^ 1;

  for (const file of [content.subarray(0, 4), content.subarray(0, 40), content.subarray(0, -17), damaged]) {
    fs.overwrite(PATH, file);
    await expect(readSnapshot(fs, PATH, new ServerModel())).rejects.toBeInstanceOf(MalformedPacketError);
  }
});
