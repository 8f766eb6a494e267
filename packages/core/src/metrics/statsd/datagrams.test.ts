import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { Datagrams, MAX_DATAGRAM_BYTES } from './datagrams.js';

function setUp() {
  const clock = new VirtualClock();
  const sent: string[] = [];
  return { clock, sent, datagrams: new Datagrams(clock, (datagram) => sent.push(datagram)) };
}

it('joins lines, and sends them after a moment', async () => {
  const { clock, sent, datagrams } = setUp();

  datagrams.send('a:1|c');
  datagrams.send('b:2|g');
  const before = [...sent];
  await clock.advance(1_000);

  expect(before).toEqual([]);
  expect(sent).toEqual(['a:1|c\nb:2|g']);
  expect(clock.pendingTimers).toBe(0);
});

it('fills no datagram beyond its size, counted in bytes', () => {
  const { sent, datagrams } = setUp();
  const line = `${'ü'.repeat(50)}:1|c`;

  for (let i = 0; i < 20; i++) datagrams.send(line);
  datagrams.flush();

  expect(sent.join('\n').split('\n')).toEqual(Array.from({ length: 20 }, () => line));
  expect(Math.max(...sent.map((datagram) => Buffer.byteLength(datagram)))).toBeLessThanOrEqual(MAX_DATAGRAM_BYTES);
  expect(sent.length).toBe(5);
});

it('sends a line that is too long for any datagram by itself', () => {
  const { sent, datagrams } = setUp();
  const long = `${'x'.repeat(MAX_DATAGRAM_BYTES)}:1|c`;

  for (const line of ['a:1|c', long, 'b:1|c']) datagrams.send(line);
  datagrams.flush();

  expect(sent).toEqual(['a:1|c', long, 'b:1|c']);
});
