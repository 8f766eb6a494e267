import { describe, expect, it } from 'vitest';
import { tableLines } from './table.js';

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
