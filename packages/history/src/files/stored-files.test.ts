import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listHistoryFiles, readHistoryFile, readUndamaged, type HistoryFile } from './stored-files.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-history-'));
});
afterEach(() => rm(directory, { recursive: true }));

const write = (name: string, content: string | Buffer) => writeFile(join(directory, name), content);
const onlyFile = async (): Promise<HistoryFile> => {
  const [file] = await listHistoryFiles(directory);
  return file ?? expect.fail('no file');
};

async function textOf(blocks: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const block of blocks) text += block.toString('utf8');
  return text;
}

it('lists history files by the time at which they began, and nothing else', async () => {
  for (const name of ['900-bb.jsonl', '1000-aa.jsonl.gz', '1000-AA.jsonl', '800-aa.jsonl.gz.new', 'notes.txt'])
    await write(name, '');
  await mkdir(join(directory, 'sub'));

  const files = await listHistoryFiles(directory);

  expect(files.map(({ beganMs, run, isCompressed }) => [beganMs, run, isCompressed])).toEqual([
    [900, 'bb', false],
    [1000, 'aa', true],
  ]);
});

it('lists nothing in a directory that does not exist, and reports other errors', async () => {
  await write('file', '');

  expect(await listHistoryFiles(join(directory, 'missing'))).toEqual([]);
  await expect(listHistoryFiles(join(directory, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it('reads whole lines only, across the blocks of a large file', async () => {
  const lines = 'é'.repeat(99).concat('\n').repeat(5_000);
  await write('1000-aa.jsonl.gz', gzipSync(`${lines}cut off`));

  expect(await textOf(readHistoryFile(await onlyFile()))).toBe(lines);
});

it('reads the compressed form of a file that was compressed since it was listed', async () => {
  await write('1000-aa.jsonl', 'one\n');
  const file = await onlyFile();
  await write('1000-aa.jsonl.gz', gzipSync('one\n'));
  await rm(file.path);
  const found = await textOf(readHistoryFile(file));
  await rm(`${file.path}.gz`);

  expect(found).toBe('one\n');
  expect(await textOf(readHistoryFile(file))).toBe('');
});

it('reports a damaged file and yields what precedes the damage', async () => {
  const lines = Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join('');
  await write('1000-aa.jsonl.gz', gzipSync(lines).subarray(0, -20));
  const file = await onlyFile();
  const damaged: string[] = [];

  const text = await textOf(readUndamaged(file, ({ path }) => damaged.push(path)));

  expect(damaged).toEqual([file.path]);
  expect(text.length).toBeGreaterThan(0);
  expect(lines.startsWith(text)).toBe(true);
});
