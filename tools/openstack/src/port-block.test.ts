import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { PortBlock } from './port-block.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

async function take(wanted?: number): Promise<PortBlock> {
  const block = await PortBlock.take(wanted);
  ends.push(() => block.release());
  return block;
}

describe('a block of ports', () => {
  it('is different for each concurrent caller', async () => {
    const blocks = await Promise.all(Array.from({ length: 20 }, () => take()));

    expect(new Set(blocks.map(({ base }) => base)).size).toBe(20);
  });

  it('is refused while another cloud holds it', async () => {
    const first = await take();

    await expect(PortBlock.take(first.base)).rejects.toThrow(`port ${first.base + 10} of 127.0.0.1 is in use`);
    await first.release();
    expect((await take(first.base)).base).toBe(first.base);
  });

  it('is refused if another program listens on one of its ports, naming the port', async () => {
    const first = await take();
    const { base } = first;
    const other = createServer();
    other.listen(base + 3, '127.0.0.1');
    await once(other, 'listening');
    ends.push(() => new Promise((resolve) => other.close(resolve)));
    await first.release();

    await expect(PortBlock.take(base)).rejects.toThrow(`port ${base + 3} of 127.0.0.1 is in use, and this cloud has`);
  });
});
