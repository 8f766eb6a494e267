import { beforeEach, expect, it } from 'vitest';
import { recordingLogger } from '../../test/support/clients.js';
import type { Stat } from '../client/contract/types.js';
import { RecordError } from '../records/errors.js';
import { RecordTable } from './record-table.js';
import type { RecordChange } from './types.js';

interface Item {
  readonly text: string;
  readonly stat: Stat | undefined;
}

const at = (mzxid: number) => ({ mzxid: BigInt(mzxid) }) as Stat;
const body = (text: string) => Buffer.from(text);

function decode(id: string, bytes: Buffer, stat: Stat): Item | undefined {
  const text = bytes.toString();
  if (text === 'malformed') throw new RecordError(`item ${id}`, 'it is malformed');
  return text === '' ? undefined : { text, stat };
}

let table: RecordTable<Item>;
let changes: string[];
let lines: string[];
const session = { sessionEpoch: 1 };

beforeEach(() => {
  const recording = recordingLogger();
  lines = recording.lines;
  changes = [];
  table = new RecordTable(decode, recording.logger, session);
  table.onChange(({ id, before, after }: RecordChange<Item>) =>
    changes.push(`${id}: ${before?.text} -> ${after?.text}`),
  );
});

it('reports a new, a changed and a removed record', () => {
  table.store('a', body('one'), at(1));
  table.store('a', body('two'), at(2));
  table.remove('a');
  table.remove('a');

  expect(changes).toEqual(['a: undefined -> one', 'a: one -> two', 'a: two -> undefined']);
  expect(table.size).toBe(0);
});

it('ignores a reply that is as old as the known record, or older', () => {
  table.store('a', body('two'), at(2));
  table.store('a', body('same'), at(2));
  table.store('a', body('old'), at(1));

  expect(changes).toEqual(['a: undefined -> two']);
});

it('believes a new session once, as an older copy of the database may have come back', () => {
  table.store('a', body('new'), at(3));
  table.store('b', body('same'), at(3));
  session.sessionEpoch++;

  table.store('a', body('of the copy'), at(2));
  table.store('b', body('same'), at(3));
  table.store('a', body('older'), at(1));

  expect(changes).toEqual(['a: undefined -> new', 'b: undefined -> same', 'a: new -> of the copy']);
});

it('reports another znode with a number of before as the end of one record and the begin of another', () => {
  const made = (czxid: number, mzxid: number) => ({ ...at(mzxid), czxid: BigInt(czxid), ctime: czxid });
  const seen: unknown[] = [];
  table.store('a', body('one'), made(1, 1));
  table.store('a', body('changed'), made(1, 3));
  session.sessionEpoch++;
  table.onChange(({ id }) => seen.push(table.get(id)?.text));

  table.store('a', body('another'), made(2, 2));

  expect(changes.slice(2)).toEqual(['a: changed -> undefined', 'a: undefined -> another']);
  expect(seen).toEqual([undefined, 'another']);
});

it('reports an own record that is read again as one change, though the time of its creation was of this machine', () => {
  table.store('a', body('own'), { ...at(1), czxid: 1n, ctime: 7 });
  table.store('a', body('changed'), { ...at(2), czxid: 1n, ctime: 1_000 });

  expect(changes).toEqual(['a: undefined -> own', 'a: own -> changed']);
});

it('takes an own write of a new session for newer than records of earlier sessions', () => {
  table.store('a', body('new'), at(3));
  session.sessionEpoch++;

  table.applyEffect('a', { data: 'own', result: { stat: at(2) } } as Parameters<typeof table.applyEffect>[1]);

  expect(table.get('a')?.text).toBe('own');
});

it('removes a record whose body became empty', () => {
  table.store('a', body('one'), at(1));
  table.store('a', body(''), at(2));

  expect(changes).toEqual(['a: undefined -> one', 'a: one -> undefined']);
});

it('keeps a record whose new body is malformed, and logs each such body once', () => {
  table.store('a', body('one'), at(1));
  table.store('a', body('malformed'), at(2));
  table.store('a', body('malformed'), at(2));
  table.store('a', body('malformed'), at(3));

  expect(table.get('a')?.text).toBe('one');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toBe('error Ignored a malformed record: cannot read item a: it is malformed');
});

it('lists what is malformed, with the fields that can be read, until it is repaired, emptied or removed', () => {
  const ids = () => table.unreadable.map(({ id }) => id);
  for (const id of ['a', 'b', 'c', 'd']) table.store(id, body('malformed'), at(1));
  const [first] = table.unreadable;

  table.store('a', body('one'), at(2));
  table.store('b', body(''), at(2));
  table.remove('c');
  table.store('d', body('malformed'), at(3));

  expect(first).toMatchObject({ id: 'a', legible: {}, error: { code: 'NODEPOOL_RECORD' } });
  expect(ids()).toEqual(['d']);
  expect(table.unreadable).toBe(table.unreadable);
  table.applyEffect('d', { data: undefined, result: undefined } as Parameters<typeof table.applyEffect>[1]);
  expect(ids()).toEqual([]);
});

it('drops a record in whose place an older copy of the database has a malformed one', () => {
  table.store('a', body('later'), at(3));
  table.store('b', body('earlier'), at(1));
  session.sessionEpoch++;

  table.store('a', body('malformed'), at(2));
  table.store('b', body('malformed'), at(2));

  expect([table.get('a'), table.get('b')?.text]).toEqual([undefined, 'earlier']);
});

it('no longer lists what is malformed once an older copy of the database has what it was before', () => {
  table.store('a', body('one'), at(1));
  table.store('a', body('malformed'), at(2));
  session.sessionEpoch++;

  table.store('a', body('one'), at(1));

  expect(table.unreadable).toEqual([]);
});

it('applies each operation of one multi, which have the same transaction id, and reports when asked to', () => {
  const set = (text: string, zxid: number) => ({
    ...{ path: '/a', data: text, result: { op: 'set' as const, stat: at(zxid) } },
  });

  table.applyEffect('a', set('first', 5));
  table.applyEffect('a', set('second', 5));
  table.applyEffect('a', set('outdated', 4));
  expect(changes).toEqual([]);
  table.report('a', undefined);

  expect(changes).toEqual(['a: undefined -> second']);
});

it('calls the other listeners when one throws', () => {
  const seen: string[] = [];
  table.onChange(() => {
    throw new Error('broken listener');
  });
  table.onChange(({ id }) => seen.push(id));

  table.store('a', body('one'), at(1));

  expect(seen).toEqual(['a']);
  expect(lines).toEqual(['error Cache listener failed: broken listener']);
});
