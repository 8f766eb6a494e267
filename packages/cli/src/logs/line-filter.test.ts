import { describe, expect, it } from 'vitest';
import { LineFilter } from './line-filter.js';

const LOG = `2026-11-22 11:10:19,323 INFO nodepool: [node: 0000000007] Deleted node provider=rack
2026-11-22 11:10:19,324 INFO nodepool: [node_request: 200-0000000007] Fulfilled request nodes=["0000000007"]
2026-11-22 11:10:19,325 ERROR nodepool: [node: 0000000007] Launch failed
  Error: no route
      at connect
2026-11-22 11:10:19,326 INFO nodepool: [node: 00000000071] Another node
  of which nothing is said
{"node_id":"0000000007","message":"as JSON"}
last line 0000000007`;

function filter(id: string, pieces: readonly string[]) {
  let text = '';
  const lines = new LineFilter(id, (more) => (text += more));
  for (const piece of pieces) lines.push(piece);
  lines.end();
  return { text, count: lines.count };
}

describe('the lines about an id', () => {
  it('are those that name it, with the lines that belong to them', () => {
    const { text, count } = filter('0000000007', [LOG]);

    expect(count).toBe(7);
    expect(text.split('\n').map((line) => line.slice(-12))).toEqual([
      ...['rovider=rack', '0000000007"]', 'aunch failed', 'or: no route', '  at connect', '":"as JSON"}'],
      ...['e 0000000007', ''],
    ]);
  });

  it('are the same however the log arrives', () => {
    expect(filter('0000000007', [...LOG])).toEqual(filter('0000000007', [LOG]));
  });

  it('are not those of ids that begin or end alike', () => {
    expect(filter('200-0000000007', [LOG]).count).toBe(1);
    expect(filter('000000000', [LOG]).count).toBe(0);
    expect(filter('.*', [LOG]).count).toBe(0);
  });
});
