import { describe, expect, it } from 'vitest';
import { renderTable } from './table.js';

describe('a table with a maximum width', () => {
  const headers = ['ID', 'Long Title', 'Text'];
  const rows = [['0000000042', 'x'.repeat(40), 'y'.repeat(30)]];
  const widthOf = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

  it('is as wide as its content by default', () => {
    expect(renderTable(headers, rows)).toBe(renderTable(headers, rows, { total: 90 }));
  });

  it('truncates the longest cells until it fits', () => {
    const text = renderTable(headers, rows, { total: 60 });

    expect(widthOf(text)).toBe(60);
    expect(text.split('\n')[3]).toBe(`| 0000000042 | ${'x'.repeat(19)}… | ${'y'.repeat(19)}… |`);
  });

  it('keeps headers, ids of ten digits and ages complete, even if it exceeds the width', () => {
    const text = renderTable(headers, rows, { total: 10 });

    expect(text.split('\n')[1]).toBe('| ID         | Long Title  | Text        |');
    expect(text.split('\n')[3]).toBe('| 0000000042 | xxxxxxxxxx… | yyyyyyyyyy… |');
  });
});

it('pads no column to a cell of more than 128 characters', () => {
  const [, , , long, short] = renderTable(
    ['A', 'B'],
    [
      ['x'.repeat(200), 'b'],
      ['x', 'b'],
    ],
  ).split('\n');

  expect(long).toBe(`| ${'x'.repeat(200)} | b |`);
  expect(short).toBe(`| x${' '.repeat(127)} | b |`);
});
