import { expect, it } from 'vitest';
import { ServerList } from './server-list.js';

const KEEP_ORDER = () => 0.999;
const SERVERS = ['a', 'b', 'c'].map((host) => ({ host, port: 1 }));

function takeAll(list: ServerList): string[] {
  const taken: string[] = [];
  for (let target = list.take(); target !== undefined; target = list.take()) {
    taken.push(target.address ?? target.host);
  }
  return taken;
}

it('takes each server once in a round, in random order', () => {
  const list = new ServerList(SERVERS, () => 0);

  const first = takeAll(list);
  list.startRound();

  expect(first).not.toEqual(['a', 'b', 'c']);
  expect([...first].sort()).toEqual(['a', 'b', 'c']);
  expect(takeAll(list)).toHaveLength(3);
});

it('takes the server that was lost last', () => {
  const list = new ServerList(SERVERS, KEEP_ORDER);

  list.startRound({ host: 'a', port: 1, address: '10.0.0.1' });

  expect(takeAll(list)).toEqual(['b', 'c', 'a']);
});

it('takes the only server again after it was lost', () => {
  const list = new ServerList(SERVERS.slice(0, 1), KEEP_ORDER);

  list.startRound({ host: 'a', port: 1, address: undefined });

  expect(takeAll(list)).toEqual(['a']);
});

it('takes each address of a host name once, before the other servers', () => {
  const list = new ServerList(SERVERS, KEEP_ORDER);
  const target = list.take();
  if (target === undefined) throw new Error('the list has no server');

  list.expand(target, ['10.0.0.1', '10.0.0.2', '10.0.0.1']);

  expect(takeAll(list)).toEqual(['10.0.0.1', '10.0.0.2', 'b', 'c']);
});

it('starts a round over new servers, and knows which it includes', () => {
  const list = new ServerList(SERVERS, KEEP_ORDER);
  list.take();

  list.replace([{ host: 'd', port: 2 }]);

  expect(list.size).toBe(1);
  expect(list.includes({ host: 'd', port: 2, address: '10.0.0.4' })).toBe(true);
  expect(list.includes({ host: 'd', port: 3, address: undefined })).toBe(false);
  expect(takeAll(list)).toEqual(['d']);
});
