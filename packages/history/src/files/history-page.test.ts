import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { readHistoryPage } from './history-page.js';

it('comes to an end where parts began at the same moment, and shows a part once that is there in both forms', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-history-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, '1000-aaaa.jsonl'), 'one\n');
  await writeFile(join(directory, '1000-aaaa.jsonl.gz'), gzipSync('one\n'));
  await writeFile(join(directory, '1000-bbbb.jsonl.gz'), gzipSync('two\n'));
  await writeFile(join(directory, '2000-aaaa.jsonl'), 'three\n');

  const lines: string[] = [];
  const pages: (string | undefined)[] = [];
  for (let after: string | undefined; pages.length < 10 && pages.at(-1) !== 'end';) {
    const page = await readHistoryPage(directory, { sinceMs: 0, untilMs: Infinity, after }, () => expect.fail());
    lines.push(...page.lines);
    after = page.next;
    pages.push(after ?? 'end');
  }

  expect(pages).toEqual(['1000-bbbb@0', '2000-aaaa@0', 'end']);
  expect(lines).toEqual(['one', 'two', 'three']);
});
