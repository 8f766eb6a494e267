import { describe, expect, it } from 'vitest';
import { fittingColumns, tableLines } from './table.js';

const lines = (...args: Parameters<typeof tableLines>) => [...tableLines(...args)];

describe('a table with a maximum width', () => {
  const headers = ['ID', 'Long Title', 'Text'];
  const rows = [['0000000042', 'x'.repeat(40), 'y'.repeat(30)]];

  it('is as wide as its content by default', () => {
    expect(lines(headers, rows)).toEqual(lines(headers, rows, { total: 90 }));
  });

  it('truncates the longest cells until it fits', () => {
    const found = lines(headers, rows, { total: 60 });

    expect(Math.max(...found.map((line) => line.length))).toBe(60);
    expect(found[3]).toBe(`| 0000000042 | ${'x'.repeat(19)}… | ${'y'.repeat(19)}… |`);
  });

  it('keeps headers, ids of ten digits and ages complete, even if it exceeds the width', () => {
    const found = lines(headers, rows, { total: 10 });

    expect(found[1]).toBe('| ID         | Long Title  | Text        |');
    expect(found[3]).toBe('| 0000000042 | xxxxxxxxxx… | yyyyyyyyyy… |');
  });

  it('truncates a list between its members, and text anywhere', () => {
    const [list, text] = ['0000000041,0000000042,0000000043', 'it failed, and will not be repeated'];

    expect(lines(['Nodes'], [[list]], { total: 30 })[3]).toBe(`| 0000000041,0000000042,…    |`);
    expect(lines(['Nodes'], [[list]], { total: 10 })[3]).toBe(`| 0000000041… |`);
    expect(lines(['Text'], [[text]], { total: 30 })[3]).toBe(`| it failed, and will not b… |`);
  });
});

describe('the columns that fit', () => {
  const headers = ['ID', 'Empty', 'Text', 'Other'];
  const rows = [['x'.repeat(20), '', 'y'.repeat(30), 'z'.repeat(30)]];
  const fitting = (total: number, values = rows) =>
    fittingColumns(headers, values, { total, whole: new Set([0]) }, [3, 2]);

  it('are all, as long as truncated cells suffice', () => {
    expect(fitting(60)).toEqual([0, 1, 2, 3]);
    expect(lines(headers, rows, { total: 60, whole: new Set([0]) })[0]).toHaveLength(60);
  });

  it('are those with values first, then those that may not be dropped', () => {
    expect(fitting(59)).toEqual([0, 2, 3]);
    expect(fitting(51)).toEqual([0, 2]);
    expect(fitting(5)).toEqual([0]);
    expect(fitting(5, [])).toEqual([0, 1]);
  });
});

it('pads no column to a cell of more than 128 characters', () => {
  const [, , , long, short] = lines(
    ['A', 'B'],
    [
      ['x'.repeat(200), 'b'],
      ['x', 'b'],
    ],
  );

  expect(long).toBe(`| ${'x'.repeat(200)} | b |`);
  expect(short).toBe(`| x${' '.repeat(127)} | b |`);
});
