import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeLine, pastEvent, type PastLine } from '../record/event.js';
import { readHistory, readHistoryPage, type HistoryPage } from './read-history.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-history-'));
});
afterEach(() => rm(directory, { recursive: true }));

const write = (name: string, content: string | Buffer) => writeFile(join(directory, name), content);
const refuse = () => expect.fail();
const page = (after?: string, sinceMs = 0, untilMs = Infinity): Promise<HistoryPage> =>
  readHistoryPage(directory, { sinceMs, untilMs, after }, refuse);

describe('pages of the history', () => {
  it('come to an end where two files began at the same moment, and hold a file once that exists in both forms', async () => {
    await write('1000-aaaa.jsonl', 'one\n');
    await write('1000-aaaa.jsonl.gz', gzipSync('one\n'));
    await write('1000-bbbb.jsonl.gz', gzipSync('two\n'));
    await write('2000-aaaa.jsonl', 'three\n');

    const lines: string[] = [];
    const cursors: (string | undefined)[] = [];
    for (let after: string | undefined; cursors.length < 10 && cursors.at(-1) !== 'end';) {
      const { lines: found, next } = await page(after);
      lines.push(...found);
      after = next;
      cursors.push(after ?? 'end');
    }

    expect(cursors).toEqual(['1000-bbbb@0', '2000-aaaa@0', 'end']);
    expect(lines).toEqual(['one', 'two', 'three']);
  });

  it('divide a large file between whole lines, even if it is compressed between two pages', async () => {
    const content = Array.from({ length: 30_000 }, (_, i) => `${i} ${'x'.repeat(50)}\n`).join('');
    await write('1000-aaaa.jsonl', content);
    const first = await page();
    await write('1000-aaaa.jsonl.gz', gzipSync(content));
    await rm(join(directory, '1000-aaaa.jsonl'));
    const second = await page(first.next);

    expect([...first.lines, ...second.lines]).toEqual(content.split('\n').slice(0, -1));
    expect(second.next).toBeUndefined();
  });

  it('leave out files from before and after the time asked for', async () => {
    await write('1000-aaaa.jsonl', 'old\n');
    await utimes(join(directory, '1000-aaaa.jsonl'), 2, 2);
    await write('5000-aaaa.jsonl', 'wanted\n');
    await write('90000-aaaa.jsonl', 'new\n');

    expect(await page(undefined, 4_000, 80_000)).toEqual({ baseMs: 5000, lines: ['wanted'], next: undefined });
  });

  it('start at the next file when the one of the cursor was deleted, and end after the last', async () => {
    await write('2000-aaaa.jsonl', 'two\n');

    expect(await page('1000-aaaa@40')).toMatchObject({ lines: ['two'] });
    expect(await page('2000-bbbb@0')).toMatchObject({ lines: [], next: undefined });
  });
});

describe('lines about a request or node', () => {
  const ID = '200-0000000001';
  const request = (id: string, timeMs: number, text = ''): PastLine => ({
    ...{ kind: 'request', id, events: [pastEvent(timeMs, 'queued', 'rack/main', '', text)] },
  });
  const node: PastLine = {
    ...{ kind: 'node', id: '0000000007', isFirst: false, facts: { request: ID, labels: [], pool: '' } },
    events: [pastEvent(1_200, 'gone')],
  };
  const text = (...lines: PastLine[]) => lines.map((line) => `${encodeLine(line, 1000)}\n`).join('');

  it('are grouped by run, without lines that only mention it', async () => {
    await write('1000-aaaa.jsonl', text(request(ID, 1_100), node, request('200-0000000002', 1_300, ID)));
    await write('1000-bbbb.jsonl.gz', gzipSync(text(request(ID, 1_050))));
    await write('1000-cccc.jsonl', text(request('200-0000000002', 1_300)));

    const runs = await readHistory(directory, ID, refuse);

    expect(runs.map(({ run, lines }) => [run, lines.map(({ kind }) => kind)])).toEqual([
      ['aaaa', ['request', 'node']],
      ['bbbb', ['request']],
    ]);
  });

  it('come with the time of the last line of their run, whatever it is about', async () => {
    await write('1000-aaaa.jsonl', text(request(ID, 1_100), { kind: 'alive', timeMs: 9_000, what: 'alive' }));

    expect(await readHistory(directory, ID, refuse)).toMatchObject([{ heardMs: 9_000 }]);
  });
});
