import { describe, expect, it } from 'vitest';
import { MemoryFileSystem, pathOf } from '../../../test/server/memory-file-system.js';
import { contentOf, createRequest } from '../../../test/server/model-driver.js';
import { Random } from '../../../test/server/random.js';
import {
  DIRECTORY,
  modelAt,
  openStore,
  reopenStore,
  WritingDriver,
  writeRandomly,
} from '../../../test/server/stores.js';
import { type ServerModel, ServerModel as Model } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';

describe('Store', () => {
  it('restores everything after a restart, from log and snapshots', async () => {
    const fs = new MemoryFileSystem();
    const { store } = await openStore(fs, { snapshotEvery: 400 });
    const driver = await writeRandomly(store, new Random(3), 3000);
    await store.close();

    const { store: again } = await openStore(fs);

    expect(contentOf(again.model)).toEqual(contentOf(driver.model));
    expect(fs.names().filter((name) => name.startsWith('snapshot.'))).toHaveLength(2);
    expect(fs.names().filter((name) => name.startsWith('log.')).length).toBeLessThanOrEqual(3);
  });

  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'keeps everything that was durable through a power cut (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      let fs = new MemoryFileSystem();
      let before: ServerModel = new Model();
      for (let life = 0; life < 4; life++) {
        const { store } = await openStore(fs, { snapshotEvery: 60 });
        expect(contentOf(store.model)).toEqual(contentOf(before));
        const start = modelCopy(before);
        const driver = await writeRandomly(store, random, 50 + random.below(200));
        const acknowledged = Math.max(driver.durableZxid, start.zxid);

        fs = fs.afterPowerCut(random);
        const { store: survivor } = await openStore(fs);
        const found = survivor.model.lastZxid;
        await survivor.close();

        expect(found).toBeGreaterThanOrEqual(acknowledged);
        before = modelAt([...start.transactions, ...driver.transactions], found);
        expect(contentOf(survivor.model)).toEqual(contentOf(before));
        history.set(before, [...start.transactions, ...driver.transactions.filter(({ zxid }) => zxid <= found)]);
      }
    },
  );

  it('keeps the log short over many runs that are too short for a snapshot', async () => {
    const fs = new MemoryFileSystem();
    let written = 0;
    for (let run = 0; run < 20; run++) {
      const { store } = await openStore(fs, { snapshotEvery: 400 });
      const driver = await writeRandomly(store, new Random(run), 150);
      written = driver.model.lastZxid;
      await store.close();
    }

    const { store } = await openStore(fs);
    const oldestLog = fs.names().find((name) => name.startsWith('log.')) ?? '';

    expect(store.model.lastZxid).toBe(written);
    expect(written - Number.parseInt(oldestLog.slice(4), 16)).toBeLessThan(3 * 400);
  });

  it('writes a snapshot at a clean stop if the log is large, so that the next start reads no log', async () => {
    const fs = new MemoryFileSystem();
    const { store } = await openStore(fs);
    const driver = new WritingDriver(store);
    const client = driver.connect();
    for (let index = 0; index < 20; index++) driver.apply(client, createRequest(`/${index}`, 0, 'x'.repeat(100_000)));
    driver.append();
    await store.close();

    const { lastZxid } = driver.model;
    const digits = (zxid: number) => zxid.toString(16).padStart(16, '0');
    expect(fs.names()).toEqual(['acknowledged', `log.${digits(lastZxid + 1)}`, `snapshot.${digits(lastZxid)}`]);
    const { store: again } = await openStore(fs);
    expect(contentOf(again.model)).toEqual(contentOf(driver.model));
    const next = await writeRandomly(again, new Random(1), 100);
    await again.close();
    const { store: last } = await openStore(fs);
    expect(contentOf(last.model)).toEqual(contentOf(next.model));
  });

  it('reports a full disk once, acknowledges nothing after it, and continues when there is space', async () => {
    const fs = new MemoryFileSystem();
    const { store, failures } = await openStore(fs);
    const driver = await writeRandomly(store, new Random(11), 100);
    await store.settled();
    const durable = driver.model.lastZxid;
    fs.capacityBytes = (await fs.readFile(pathOf(fs, DIRECTORY, 'log.'))).length + 20;

    const client = driver.connect();
    driver.apply(client, createRequest('/too-much', 0, 'x'.repeat(100)));
    for (const transaction of driver.transactions.slice(-2)) store.append(transaction);
    const isDurable = await store.settled();
    await store.close();

    expect(isDurable).toBe(false);
    expect(failures).toMatchObject([{ code: 'ENOSPC' }]);
    await expect(reopenStore(fs, store)).rejects.toMatchObject({ code: 'ENOSPC' });
    // Space for writing, and far too little for all the data once more.
    fs.capacityBytes += 300_000;
    const again = await reopenStore(fs, store);
    expect(again.model.lastZxid).toBe(durable);
    expect(again.model.tree.get('/too-much')).toBeUndefined();
  });
});

const history = new WeakMap<ServerModel, Transaction[]>();

function modelCopy(model: ServerModel): { zxid: number; transactions: Transaction[] } {
  return { zxid: model.lastZxid, transactions: history.get(model) ?? [] };
}
