import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ServerModel, ServerModel as Model } from '../model/server-model.js';
import type { Transaction } from '../model/transactions.js';
import { Store } from './store.js';
import { MemoryFileSystem, pathOf } from '../../../test/server/memory-file-system.js';
import { contentOf, createRequest, ModelDriver, randomWrite } from '../../../test/server/model-driver.js';
import { Random } from '../../../test/server/random.js';

const DIRECTORY = '/data';
const ACKNOWLEDGED = '/data/acknowledged';

/** A lock that is never lost. */
const HELD = { isCertain: true, confirm: () => Promise.resolve() };

interface LogLine {
  level: string;
  message: string;
  fields: Record<string, unknown> | undefined;
}

async function openStore(fs: MemoryFileSystem, options: { snapshotEvery?: number; fresh?: boolean } = {}) {
  const lines: LogLine[] = [];
  const failures: unknown[] = [];
  const log = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    lines.push({ level, message, fields });
  };
  const store = await Store.open(
    {
      directory: DIRECTORY,
      fs,
      fsync: true,
      snapshotEvery: options.snapshotEvery ?? 1_000_000,
      logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      lock: HELD,
      createModel: () => new Model(),
      onDurable: () => undefined,
      onFailure: (error) => failures.push(error),
    },
    { fresh: options.fresh ?? false },
  );
  return { store, lines, failures };
}

async function reopenStore(fs: MemoryFileSystem, failed: Store): Promise<Store> {
  const options = {
    ...{ directory: DIRECTORY, fs, fsync: true, snapshotEvery: 1_000_000, createModel: () => new Model() },
    ...{
      lock: HELD,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      onDurable: () => undefined,
      onFailure: () => undefined,
    },
  };
  return Store.reopen(options, failed);
}

function modelAt(transactions: readonly Transaction[], zxid: number): ServerModel {
  const model = new Model();
  for (const transaction of transactions) {
    if (transaction.zxid <= zxid) model.replay(transaction);
  }
  return model;
}

/** Hands what its model did to a store, and knows how far the store is with it. */
class WritingDriver extends ModelDriver {
  private readonly batches: { batch: number; zxid: number }[] = [];

  constructor(private readonly store: Store) {
    super(store.model);
  }

  append(): void {
    for (const transaction of this.transactions.slice(this.batches.length)) {
      this.store.append(transaction);
      this.batches.push({ batch: this.store.lastBatch, zxid: transaction.zxid });
    }
  }

  /** Last transaction that may have been acknowledged. */
  get durableZxid(): number {
    return this.batches.findLast(({ batch }) => batch <= this.store.durableBatch)?.zxid ?? 0;
  }
}

/** Writes `count` random transactions, with the log getting its turn now and then. */
async function writeRandomly(store: Store, random: Random, count: number): Promise<WritingDriver> {
  const driver = new WritingDriver(store);
  const clients = [driver.connect(), driver.connect()];
  driver.append();
  for (let step = 0; step < count; step++) {
    driver.apply(random.pick(clients), randomWrite(random));
    driver.append();
    store.snapshotIfDue();
    if (random.chance(0.1)) await nextTurn();
  }
  return driver;
}

describe('Store', () => {
  it('has everything again after a restart, from log and snapshots', async () => {
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

  it('cuts off a torn last record at every byte of it, and says so', async () => {
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

  it('refuses to start when what it acknowledged last is damaged, cut off or gone, and says where and how to continue', async () => {
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

  it('refuses to start when a record is damaged that was durable once', async () => {
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

  it('keeps the log short in many runs that are each too short for a snapshot', async () => {
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

  it('leaves a snapshot at a clean stop where the log is large, so that the next start reads no log', async () => {
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

  it('falls back to the older snapshot when the newest is damaged', async () => {
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

  it('reports a full disk once, acknowledges nothing after it, and can continue when there is space again', async () => {
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
    // Room for writing, and far too little for all the data once more.
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
