import { isMap, type Json } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { silentLogger, type Logger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { UnreadableEntries } from './unreadable-entries.js';

const SERVERS = { kind: 'servers' };

function setUp() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const keep = (text: string) => void lines.push(text);
  const logger: Logger = { ...silentLogger, info: keep, warn: keep, child: () => logger };
  const entries = new UnreadableEntries('sky', { clock, logger });
  /** Reads maps with a number. */
  const read = (list: { kind: string; part?: string }, all: readonly unknown[]) =>
    entries.readEach(list, all, (one) => {
      const { size } = one as { size: { toFixed(): string } };
      return isMap(one as Json) ? size.toFixed() : undefined;
    });
  return { clock, lines, entries, read };
}

it('reads what can be read, and names the rest', () => {
  const { entries, read } = setUp();

  expect(read(SERVERS, [null, { size: 1 }, 'text', { id: 's-1', size: 'large' }, { size: 2 }])).toEqual(['1', '2']);
  expect(read({ kind: 'images' }, [{ metadata: { name: 'debian' } }])).toEqual([]);
  expect(entries.conditions).toMatchObject([
    {
      ...{ kind: 'provider', name: 'sky', type: 'UnreadableEntries', severity: 'warning', reason: 'Unreadable' },
      message: expect.stringContaining('1 of the images (debian); 3 of the servers (s-1, ...)') as string,
      evidence: { count: 4, kinds: 'images, servers' },
    },
  ]);
});

it('warns once of each change, and ends when the list can be read again', () => {
  const { lines, entries, read } = setUp();
  for (const broken of [[null], [null], [null, { id: 'a' }], [null, { id: 'a' }], [], []]) read(SERVERS, broken);

  expect(lines).toEqual([
    'Some entries of a list cannot be read; they are left out, and left alone',
    'Some entries of a list cannot be read; they are left out, and left alone',
    'All entries of a list can be read again',
  ]);
  expect(entries.conditions).toEqual([]);
});

it('tells parts of a list apart, and forgets those that are asked for no more', async () => {
  const { clock, entries, read } = setUp();
  read({ ...SERVERS, part: 'north' }, [null]);
  read({ ...SERVERS, part: 'south' }, []);

  expect(entries.conditions).toHaveLength(1);
  clock.set(clock.now() - 7_200_000);
  await clock.advance(1_000_000);
  expect(entries.conditions).toEqual([]);
});

it('knows which ids it may hide', () => {
  const { entries, read } = setUp();
  read(SERVERS, [{ id: 'a' }]);

  expect([entries.mayHide('servers', 'a'), entries.mayHide('servers', 'b')]).toEqual([true, false]);
  read(SERVERS, [{ id: 'a' }, {}]);
  expect([entries.mayHide('servers', 'b'), entries.mayHide('images', 'b')]).toEqual([true, false]);
});

it('repeats no text of a cloud that is no id', () => {
  const { entries, read } = setUp();
  read(SERVERS, [{ id: 'a; reboot\u001b[2J' }]);

  expect(entries.conditions[0]?.message).toMatch(/1 of the servers$/);
});
