import { describe, expect, it } from 'vitest';
import { writeParts } from './write-parts.js';

describe('a long text', () => {
  it('is put together in stretches, with turns for others between them, and only its own time counts', async () => {
    let nowMs = 0;
    const order: string[] = [];
    function* parts(): Generator<string> {
      for (const part of ['a', '', 'ö', 'b']) {
        order.push(part);
        nowMs += 2;
        yield part;
      }
    }
    setImmediate(() => {
      order.push('other work');
      nowMs += 1_000;
    });

    const { body, spentMs } = await writeParts(parts(), () => nowMs);

    expect(body.toString()).toBe('aöb');
    expect(order).toEqual(['a', '', 'other work', 'ö', 'b']);
    expect(spentMs).toBe(8);
  });
});
