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
  it('delivers packets in the order they were sent, and the end last', () => {
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

  it('delays packets in flight and packets sent later', () => {
    const { clock, lane, arrived, send } = open();
    send('before', 5);
    lane.hold(100);
    send('meanwhile', 5);

    clock.advance(99);
    expect(arrived).toEqual([]);
    clock.advance(1);

    expect(arrived).toEqual(['before', 'meanwhile']);
  });

  it('delivers the first bytes in flight and the end after a cut', () => {
    const { clock, lane, arrived, send } = open();
    send('one', 5);
    send('two', 5);
    expect(lane.bytes).toBe(6);

    lane.cut(4);
    send('three', 0);
    clock.advance(5);

    expect(arrived).toEqual(['one', 't', 'end']);
  });

  it('delivers nothing after it is dropped, and leaves no timer', () => {
    const { clock, lane, arrived, send } = open();
    send('one', 5);

    lane.drop();
    send('two', 0);
    clock.advance(5);

    expect(arrived).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
