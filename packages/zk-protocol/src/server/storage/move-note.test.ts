import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { onTestEnd } from '../../../test/support/clients.js';
import { readMoveNote, refuseMoved, writeMoveNote } from './move-note.js';

const NOTE = { id: 'abc', to: 'zk1:2181', isDone: false };

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'move-note-'));
  onTestEnd(() => rmSync(directory, { recursive: true }));
});

it('stores, replaces and removes a note', async () => {
  expect(await readMoveNote(directory)).toBeUndefined();
  await writeMoveNote(directory, NOTE);
  await writeMoveNote(directory, { ...NOTE, isDone: true });

  expect(await readMoveNote(directory)).toEqual({ ...NOTE, isDone: true });
  expect(readdirSync(directory)).toEqual(['moved.json']);
  await writeMoveNote(directory, undefined);
  await writeMoveNote(directory, undefined);

  expect(readdirSync(directory)).toEqual([]);
});

it.each([
  [false, 'a move of its content to zk1:2181 has not been finished'],
  [true, 'its content was moved to zk1:2181'],
])('keeps a server off a directory with a note (done: %s)', async (isDone, what) => {
  await refuseMoved(directory);
  await writeMoveNote(directory, { ...NOTE, isDone });

  await expect(refuseMoved(directory)).rejects.toMatchObject({
    ...{ code: 'ZK_EMBEDDED_MOVED', path: directory, message: expect.stringContaining(what) as string },
  });
});

it('rejects a note that is not JSON', async () => {
  writeFileSync(join(directory, 'moved.json'), 'moved');

  await expect(refuseMoved(directory)).rejects.toBeInstanceOf(SyntaxError);
});
