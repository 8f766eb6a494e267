import { TaskManager, type EntryReader } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { createComputeClient } from './client.js';
import type { Http } from './http.js';

const SIGNAL = new AbortController().signal;
const WHOLE = { name: 'np1', zone: 'zones/a', status: 'RUNNING', machineType: 'types/e2' };
const BROKEN = [null, {}, { ...WHOLE, labels: { owner: 7 } }, { ...WHOLE, networkInterfaces: [null] }];

/** A client of an API that answers everything with this, and what its lists could not read. */
function clientOf(answer: unknown) {
  const tasks = new TaskManager('google', { clock: new VirtualClock() });
  const unread: string[] = [];
  const entries: Pick<EntryReader, 'readEach'> = {
    readEach: ({ kind, part = '' }, all, read) => {
      const found = all.flatMap((entry) => read(entry) ?? []);
      unread.push(`${kind} ${part}: ${all.length - found.length}`);
      return found;
    },
  };
  const http: Partial<Http> = { call: <T>() => Promise.resolve(answer as T) };
  const shared = { http: http as Http, reads: tasks, writes: tasks, entries };
  return { unread, client: createComputeClient({ project: 'p', region: 'r', ...shared }) };
}

it('reads the instances of a zone one by one', async () => {
  const { client, unread } = clientOf({ items: [...BROKEN, WHOLE] });

  expect(await client.listInstances('a', '', SIGNAL)).toEqual([WHOLE]);
  expect(unread).toEqual(['instances a: 4']);
});

it('reads the zones of a list of all one by one, and takes one without an answer for silent', async () => {
  const items = { 'zones/a': { instances: [WHOLE, null] }, 'zones/b': null, 'zones/c': { instances: 'none' } };
  const { client, unread } = clientOf({ items, unreachables: [null, 'projects/p/zones/d'] });

  expect(await client.listAllInstances(undefined, SIGNAL)).toEqual({
    found: [WHOLE],
    unreachable: new Set(['b', 'c', 'd']),
  });
  expect(unread).toEqual(['instances : 1']);
});

it('takes no disk for detached whose users it cannot read', async () => {
  const disk = { name: 'd', zone: 'zones/a' };
  const { client } = clientOf({
    items: { 'zones/a': { disks: [disk, { ...disk, users: 'np1' }, { ...disk, users: [1] }] } },
  });

  expect((await client.listAllDisks('', SIGNAL)).found).toEqual([disk]);
});

it('reads zones and quotas of a region one by one', async () => {
  const quotas = [null, { metric: 'CPUS' }, { metric: 'INSTANCES', limit: 5 }];
  const { client, unread } = clientOf({ zones: ['zones/a', null], quotas });

  expect(await client.getRegion(SIGNAL)).toEqual({
    ...{ zones: ['zones/a'], quotas: [{ metric: 'INSTANCES', limit: 5, usage: 0 }] },
  });
  expect(unread).toEqual(['zones : 1', 'quotas of the region: 2']);
});

it.each([null, {}, { name: 'np1' }])('says of an answer %j about one thing that it cannot be read', async (answer) => {
  const { client } = clientOf(answer);
  const message = /cannot be read/;

  await expect(client.getInstance('a', 'np1', SIGNAL)).rejects.toThrow(message);
  await expect(client.getMachineType('a', 'e2', SIGNAL)).rejects.toThrow(message);
  await expect(client.getImageOfFamily('p', 'f', SIGNAL)).rejects.toThrow(message);
});
