import { expect, it } from 'vitest';
import { QuotaError } from '../../contract/errors.js';
import { LabelRecord } from './label-record.js';

const ERROR = new Error('no');
const SECOND_MS = 1_000;

it('counts a failure for the label alone once another label has worked since its first one', () => {
  const record = new LabelRecord();

  const first = record.failed('big', ERROR, 0);
  record.succeeded('small', SECOND_MS);

  expect([first, record.failed('big', ERROR, SECOND_MS)]).toEqual([false, true]);
});

it('doubts a label whose attempts fail one after the other, and not one with two failures at one moment', () => {
  const record = new LabelRecord();
  for (const atMs of [0, 30 * SECOND_MS]) record.failed('slow', ERROR, atMs);
  for (const atMs of [0, SECOND_MS]) record.failed('twice', ERROR, atMs);
  for (const atMs of [0, SECOND_MS, SECOND_MS]) record.failed('often', ERROR, atMs);

  expect(record.doubted(30 * SECOND_MS).map(({ label, health }) => [label, health.failures])).toEqual([
    ['slow', 2],
    ['often', 3],
  ]);
});

it('doubts a label at the third refusal for lack of quota in a row, which says nothing of the cloud', () => {
  const record = new LabelRecord();
  const refused = (label: string, atMs: number) => record.refused(label, new QuotaError('403'), atMs);
  for (const atMs of [0, 30 * SECOND_MS]) for (const label of ['often', 'twice']) refused(label, atMs);
  refused('often', 60 * SECOND_MS);
  record.succeeded('small', 60 * SECOND_MS);

  expect(record.doubted(60 * SECOND_MS).map(({ label, health }) => [label, health.failures])).toEqual([['often', 3]]);
  expect(record.failed('often', ERROR, 60 * SECOND_MS)).toBe(false);
  expect(record.doubted(660 * SECOND_MS)).toEqual([]);
});

it('prefers labels for a probe that worked last to those that failed last', () => {
  const record = new LabelRecord();
  record.failed('bad', ERROR, 2);
  record.failed('worse', ERROR, 3);
  record.succeeded('good', 1);

  expect(['worse', 'bad', 'good'].sort(record.compare)).toEqual(['good', 'bad', 'worse']);
});
