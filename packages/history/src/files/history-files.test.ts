import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { pastEvent, type PastLine } from '../record/event.js';
import { HistoryFiles } from './history-files.js';

const RUN = 'abcd1234';

it('leaves no empty files on a full disk, and continues once space is free', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-history-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const clock = new VirtualClock(1_600_000_000_000);
  const place = { directory, maxBytes: 1_000_000, maxAgeMs: 86_400_000 };
  const files = new HistoryFiles({ ...place, run: RUN, clock, logger: silentLogger });
  const line: PastLine = {
    ...{ kind: 'request', id: '200-0000000001', facts: { createdMs: 0, labels: [], requestor: null, tenant: null } },
    events: [pastEvent(0, 'fulfilled')],
  };
  const nextFile = () => join(directory, `${clock.now()}-${RUN}.jsonl`);

  for (let attempt = 0; attempt < 3; attempt++) {
    await symlink('/dev/full', nextFile());
    await files.append([line]);
    await clock.advance(11_000);
  }
  expect(await readdir(directory)).toEqual([]);
  const written = nextFile();
  await files.append([line]);
  await files.close();

  expect((await readdir(directory)).map((name) => join(directory, name))).toEqual([written]);
  expect(files.dropped).toBe(3);
});

it('keeps most of the history when the clock is weeks ahead for a moment, and removes old files a few at a time', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-history-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const dayMs = 86_400_000;
  const now = 1_600_000_000_000;
  const names = Array.from({ length: 7 }, (_, day) => `${now - (7 - day) * dayMs}-${RUN}.jsonl`);
  for (const name of names) await writeFile(join(directory, name), '');
  const place = { directory, maxBytes: 1_000_000, maxAgeMs: 7 * dayMs };
  const line: PastLine = {
    ...{ kind: 'request', id: '200-0000000001', facts: { createdMs: 0, labels: [], requestor: null, tenant: null } },
    events: [pastEvent(0, 'fulfilled')],
  };

  const clock = new VirtualClock(now + 30 * dayMs);
  const files = new HistoryFiles({ ...place, run: 'beef', clock, logger: silentLogger });
  await files.append([line]);
  await files.close();

  expect((await readdir(directory)).filter((name) => name.includes(RUN)).sort()).toEqual(names.slice(2));
});
