import { expect, it } from 'vitest';
import { MemoryFileSystem, pathOf } from '../../../test/server/memory-file-system.js';
import { contentOf, createRequest, ModelDriver } from '../../../test/server/model-driver.js';
import { Random } from '../../../test/server/random.js';
import { DIRECTORY, openStore, writeRandomly } from '../../../test/server/stores.js';

const ACKNOWLEDGED = '/data/acknowledged';

it('cuts off a torn last record at any byte, and logs it', async () => {
  const fs = new MemoryFileSystem();
  const { store } = await openStore(fs);
  const driver = new ModelDriver(store.model);
  const client = driver.connect();
  driver.apply(client, createRequest('/kept', 0, 'kept'));
  for (const transaction of driver.transactions) store.append(transaction);
  await store.settled();
  const path = pathOf(fs, DIRECTORY, 'log.');
  const intact = (await fs.readFile(path)).length;
  const acknowledged = await fs.readFile(ACKNOWLEDGED);
  const { transaction } = driver.apply(client, createRequest('/torn', 0, 'torn'));
  if (transaction !== undefined) store.append(transaction);
  await store.close();
  const whole = await fs.readFile(path);

  for (let cut = intact; cut < whole.length; cut++) {
    for (const tail of [Buffer.alloc(0), Buffer.alloc(whole.length - cut, 0xaa), Buffer.alloc(7, 0xff)]) {
      fs.overwrite(path, Buffer.concat([whole.subarray(0, cut), tail]));
      fs.overwrite(ACKNOWLEDGED, acknowledged);

      const { store: again, lines } = await openStore(fs);
      await again.close();

      const isCut = cut > intact || tail.length > 0;
      expect(again.model.tree.get('/kept')).toBeDefined();
      expect(again.model.tree.get('/torn')).toBeUndefined();
      expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(isCut ? 1 : 0);
      expect((await fs.readFile(path)).length).toBe(intact);
    }
  }
});

it('rejects a directory whose last acknowledged record is damaged, cut off or missing, and names place and remedy', async () => {
  const fs = new MemoryFileSystem();
  const { store } = await openStore(fs);
  const driver = new ModelDriver(store.model);
  const client = driver.connect();
  driver.apply(client, createRequest('/kept', 0, 'kept'));
  for (const transaction of driver.transactions) store.append(transaction);
  await store.settled();
  const path = pathOf(fs, DIRECTORY, 'log.');
  const before = (await fs.readFile(path)).length;
  const { transaction } = driver.apply(client, createRequest('/last', 0, 'last'));
  if (transaction !== undefined) store.append(transaction);
  await store.close();
  const whole = await fs.readFile(path);
  const flipped = Buffer.from(whole);
  flipped[whole.length - 3] = (flipped[whole.length - 3] ?? 0) ^ 1;

  for (const [content, at] of [
    [flipped, before],
    [whole.subarray(0, whole.length - 1), before],
    [whole.subarray(0, before), before],
    [Buffer.concat([whole.subarray(0, before), Buffer.alloc(whole.length - before)]), before],
    [Buffer.alloc(0), 0],
  ] as const) {
    fs.overwrite(path, content);
    await expect(openStore(fs)).rejects.toMatchObject({
      code: 'ZK_EMBEDDED_CORRUPT',
      path,
      message: expect.stringMatching(
        new RegExp(`at byte ${at}, but .*up to byte ${whole.length} is safe.*remove /data/acknowledged`),
      ) as string,
    });
    expect(await fs.readFile(path)).toEqual(content);
  }
  await fs.remove(path);
  await expect(openStore(fs)).rejects.toMatchObject({ path, message: expect.stringContaining('missing') as string });

  fs.overwrite(path, flipped);
  await fs.remove(ACKNOWLEDGED);
  const { store: again } = await openStore(fs);
  expect(again.model.tree.get('/kept')).toBeDefined();
  expect(again.model.tree.get('/last')).toBeUndefined();
});

it('rejects a directory with a damaged record that was durable', async () => {
  const fs = new MemoryFileSystem();
  const { store } = await openStore(fs);
  const driver = new ModelDriver(store.model);
  const client = driver.connect();
  for (const name of ['/a', '/b', '/c']) {
    driver.apply(client, createRequest(name));
    for (const transaction of driver.transactions.splice(0)) store.append(transaction);
    await store.settled();
  }
  await store.close();
  const path = pathOf(fs, DIRECTORY, 'log.');
  const file = await fs.readFile(path);
  file[30] = (file[30] ?? 0) ^ 0xff;
  fs.overwrite(path, file);

  await expect(openStore(fs)).rejects.toMatchObject({ code: 'ZK_EMBEDDED_CORRUPT', path });
  expect(await fs.readFile(path)).toEqual(file);
});

it('falls back to the older snapshot if the newest is damaged', async () => {
  const fs = new MemoryFileSystem();
  const { store } = await openStore(fs, { snapshotEvery: 200 });
  const driver = await writeRandomly(store, new Random(5), 1500);
  await store.close();
  const path = pathOf(fs, DIRECTORY, 'snapshot.');
  const file = await fs.readFile(path);
  file[file.length - 3] = (file[file.length - 3] ?? 0) ^ 1;
  fs.overwrite(path, file);

  const { store: again, lines } = await openStore(fs);

  expect(contentOf(again.model)).toEqual(contentOf(driver.model));
  expect(lines).toMatchObject([{ level: 'error', fields: { path } }]);
});
