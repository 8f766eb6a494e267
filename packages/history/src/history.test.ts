import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger, type LogFields, type Logger } from '@nodepool/core';
import type { HistorySettings } from '@nodepool/core/config';
import { LauncherEvents } from '@nodepool/core/launcher';
import { VirtualClock } from '@nodepool/core/testing';
import { request } from '../test/support/records.js';
import { History } from './history.js';
import { timelineOf } from './timeline/timeline.js';

const POOL = { launcherId: 'nl01-main', provider: 'rack', pool: { name: 'main' } };
const DAY_MS = 86_400_000;
const run = promisify(execFile);

let parent: string;
let directory: string;
let clock: VirtualClock;
let history: History;
let events: LauncherEvents;
let said: [message: string, fields: LogFields | undefined][];
const logger: Logger = {
  ...silentLogger,
  info: (message, fields) => void said.push([message, fields]),
  warn: (message, fields) => void said.push([message, fields]),
};

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nodepool-history-'));
  directory = join(parent, 'history');
  clock = new VirtualClock(1_600_000_001_000);
  said = [];
  events = new LauncherEvents();
  history = open();
});
afterEach(async () => {
  await history.close();
  await rm(parent, { recursive: true });
});

function open(changes: Partial<HistorySettings> = {}): History {
  const settings = { enabled: true, directory: undefined, maxBytes: 1_000_000, maxAgeMs: DAY_MS, ...changes };
  const opened = new History({ clock, logger, hostname: 'nl01', settings, defaultDirectory: directory });
  opened.follow({ events, nodes: { onChange: () => () => {} }, requests: { onChange: follow as never } });
  return opened;
}

const files = () => readdir(directory);
const toldBy = async (from: History, id: string) =>
  timelineOf(
    'request',
    id,
    (await from.read(id)).map((run) => ({ ...run, launcher: 'nl01' })),
  );

/** A request that waits and is withdrawn, all of it in the file. */
async function pass(id: string, labels = ['small']): Promise<void> {
  const asked = request(id, { createdTimeMs: clock.now(), labels });
  queueBehind(asked, { rule: 'label-quota', text: '1 of "small" needed, 0 free' });
  await clock.advance(500);
  gone(asked);
  await clock.advance(10_000);
  await history.written();
}

function queueBehind(asked: ReturnType<typeof request>, reason: { rule: string; text: string }): void {
  events.emit('requestJudged', { pool: POOL, request: asked, group: 'small' });
  events.emit('poolPlanned', {
    pool: POOL,
    waits: { waiting: [{ request: asked, group: 'small', reason }], paused: [] },
  });
}

let gone: (asked: ReturnType<typeof request>) => void;
function follow(listen: (change: { id: string }) => void): () => void {
  gone = (asked) => listen({ id: asked.id, before: asked, after: undefined } as never);
  return () => {};
}

describe('the files', () => {
  it('hold finished records, readable by the owner alone', async () => {
    await pass('200-0000000001');
    await history.close();
    const [file = ''] = await files();

    expect(((await stat(join(directory, file))).mode & 0o777).toString(8)).toBe('600');
    expect(((await stat(directory)).mode & 0o777).toString(8)).toBe('700');
    expect(await toldBy(open(), '200-0000000001')).toMatchObject({
      state: 'withdrawn',
      intervals: [{ cause: 'label-quota', text: 'rack/main: 1 of "small" needed, 0 free' }],
    });
  });

  it('are not written to a directory that every user may write to', async () => {
    await mkdir(directory);
    await chmod(directory, 0o777);

    await pass('100-0000000001');

    expect(await files()).toEqual([]);
    const [, { error } = {}] = said.find(([message]) => message.startsWith('Failed to write the history')) ?? [];
    expect(error).toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });
  });

  it('are read while a request is still open, without lines that were cut off', async () => {
    await pass('200-0000000001');
    await history.close();
    const [file = ''] = await files();
    await writeFile(
      join(directory, file),
      `${await readFile(join(directory, file), 'utf8')}{"r":"200-0000000001","t":`,
    );
    history = open();
    const waiting = request('200-0000000002', { createdTimeMs: clock.now() });
    events.emit('requestJudged', { pool: POOL, request: waiting, group: 'small' });

    expect(await toldBy(history, '200-0000000001')).toMatchObject({ state: 'withdrawn' });
    expect(await toldBy(history, '200-0000000002')).toMatchObject({
      state: 'waiting',
      intervals: [{ end_time: null }],
    });
    expect(await toldBy(history, '200-0000000003')).toBeUndefined();
  });

  it('stay below the size limit: the oldest are deleted first', async () => {
    await history.close();
    history = open({ maxBytes: 4_000 });
    for (let i = 0; i < 200; i++) await pass(`200-${String(i).padStart(10, '0')}`);
    await history.close();
    const sizes = await Promise.all((await files()).map(async (file) => (await stat(join(directory, file))).size));

    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(4_400);
    expect(await toldBy(open(), '200-0000000000')).toBeUndefined();
    expect(await toldBy(open(), '200-0000000199')).toBeDefined();
  });

  it('are shown without damaged ones, which are logged once', async () => {
    await pass('200-0000000001');
    await writeFile(join(directory, '1000-abcd.jsonl.gz'), 'not compressed');

    expect(await toldBy(history, '200-0000000001')).toMatchObject({ state: 'withdrawn' });
    expect(await history.page({ sinceMs: 0, untilMs: Infinity, after: undefined })).toMatchObject({ lines: [] });
    expect(said).toMatchObject([
      ['Skipping the rest of a damaged history file', { path: join(directory, '1000-abcd.jsonl.gz') }],
    ]);
  });

  it('are deleted when they are too old', async () => {
    await pass('200-0000000001');
    await clock.advance(1.3 * DAY_MS);
    await pass('200-0000000002');
    await history.close();

    expect(await files()).toHaveLength(1);
    expect(await toldBy(open(), '200-0000000001')).toBeUndefined();
  });

  it('do not exist while the history is disabled', async () => {
    await history.configure({ enabled: false, directory: undefined, maxBytes: 1_000_000, maxAgeMs: DAY_MS });
    await pass('200-0000000001');

    await expect(files()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  // Ends: HistoryNotWritten NoSpace
  it('that find no space are a condition, until there is some', async () => {
    await mkdir(directory, { mode: 0o700 });
    await run('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=0700', 'tmpfs', directory]);
    try {
      await writeFile(join(directory, 'other'), Buffer.alloc(65_536));
      await pass('200-0000000001');
      await expect
        .poll(() => history.conditions())
        .toMatchObject([{ reason: 'NoSpace', nextStep: `free space on the disk of ${directory}` }]);

      await rm(join(directory, 'other'));
      await clock.advance(60_000); // it is tried again after a while
      await pass('200-0000000002');

      await expect.poll(() => history.conditions()).toEqual([]);
      await history.close();
    } finally {
      await run('umount', ['--lazy', directory]);
    }
  });

  // Ends: HistoryNotWritten NotWritable
  it('that cannot be written are a condition, until the folder can be written', async () => {
    await writeFile(directory, 'not a folder');
    await pass('200-0000000001');
    await expect
      .poll(() => history.conditions())
      .toMatchObject([
        { type: 'HistoryNotWritten', reason: 'NotWritable', nextStep: `make ${directory} writable for this user` },
      ]);

    await rm(directory);
    await mkdir(directory);
    await clock.advance(120_000); // without an event

    await expect.poll(() => history.conditions()).toEqual([]);
  });

  it('log a write failure once, and count the lines dropped', async () => {
    await writeFile(directory, 'not a folder');
    await pass('200-0000000001');
    await pass('200-0000000002');
    await history.close();
    const { dropped } = history;
    await rm(directory);
    await mkdir(directory);
    history = open();
    await pass('200-0000000003');
    await history.close();

    expect(dropped).toBeGreaterThanOrEqual(2);
    expect(said).toMatchObject([
      ['Failed to write the history; dropping its lines', { directory, error: { code: 'EEXIST' } }],
    ]);
    expect(await toldBy(history, '200-0000000003')).toMatchObject({ state: 'withdrawn' });
  });
});

it('shows that a launcher was gone while a request waited', async () => {
  const asked = request('200-0000000001', { createdTimeMs: clock.now() });
  queueBehind(asked, { rule: 'label-quota', text: 'none is free' });
  await clock.advance(20_000);
  const runs = (await history.read(asked.id)).map((run) => ({ ...run, launcher: 'nl01', isRunning: false }));
  await clock.advance(20_000);

  expect(timelineOf('request', asked.id, runs)).toMatchObject({
    intervals: [
      { cause: 'label-quota', begin_time: 1_600_000_001 },
      { cause: 'unseen', text: expect.stringMatching(/was gone/) as string, begin_time: 1_600_000_021, end_time: null },
    ],
  });
});

it('adds all lines of this run and of earlier ones to a record, also those not written yet', async () => {
  await pass('200-0000000001');
  await history.close();
  await writeFile(join(directory, '1600000000000-ab.jsonl'), '{"r":"200-9","t":1,"e":[]}\nnot a line\n');
  history = open();
  const asked = request('200-0000000002', { createdTimeMs: clock.now(), labels: ['small'] });
  queueBehind(asked, { rule: 'label-quota', text: '1 of "small" needed, 0 free' });
  const ids = new Set<string>();

  await history.addTo({ add: (line) => void (line.kind !== 'alive' && ids.add(line.id)) });

  expect([...ids].sort()).toEqual(['200-0000000001', '200-0000000002', '200-9']);
});
