import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.js';
import { Lane } from './lane.js';

function open() {
  const clock = new ManualClock();
  const arrived: string[] = [];
  const lane = new Lane(clock, (bytes) => arrived.push(bytes?.toString() ?? 'end'));
  return { clock, lane, arrived, send: (text: string, delayMs: number) => lane.send(Buffer.from(text), delayMs) };
}

describe('a lane', () => {
  it('keeps the order in which was sent, however long each takes, and ends last', () => {
    const { clock, lane, arrived, send } = open();
    send('slow', 10);
    send('quick', 1);
    lane.send(undefined, 0);
    send('too late', 0);

    clock.advance(9);
    expect(arrived).toEqual([]);
    clock.advance(1);

    expect(arrived).toEqual(['slow', 'quick', 'end']);
  });

  it('holds what is on its way, and what is sent meanwhile', () => {
    const { clock, lane, arrived, send } = open();
    send('before', 5);
    lane.holdUntil(clock.now() + 100);
    send('meanwhile', 5);

    clock.advance(99);
    expect(arrived).toEqual([]);
    clock.advance(1);

    expect(arrived).toEqual(['before', 'meanwhile']);
  });

  it('that is cut lets the first bytes arrive, and its end', () => {
    const { clock, lane, arrived, send } = open();
    send('one', 5);
    send('two', 5);
    expect(lane.bytes).toBe(6);

    lane.cut(4);
    send('three', 0);
    clock.advance(5);

    expect(arrived).toEqual(['one', 't', 'end']);
  });

  it('that is dropped lets nothing arrive, and leaves no timer', () => {
    const { clock, lane, arrived, send } = open();
    send('one', 5);

    lane.drop();
    send('two', 0);
    clock.advance(5);

    expect(arrived).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
