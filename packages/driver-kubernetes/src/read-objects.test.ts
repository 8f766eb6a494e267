import { TaskManager, type EntryReader } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { createKubernetesClient } from './client.js';
import type { Http } from './http.js';

const SIGNAL = new AbortController().signal;
const pod = (name: unknown, more: object = {}) => ({ metadata: { name, namespace: 'main' }, ...more });

/** A client of a server that answers everything with this, and what its lists could not read. */
function clientOf(answer: unknown) {
  const unread: string[] = [];
  const isRead = (read: (entry: unknown) => unknown, entry: unknown) => {
    try {
      return read(entry) !== undefined;
    } catch {
      return false;
    }
  };
  const entries: Pick<EntryReader, 'readEach'> = {
    readEach: ({ kind, part = '' }, all, read) => {
      const readable = all.filter((entry) => isRead(read, entry));
      unread.push(`${kind} ${part}: ${all.length - readable.length}`);
      return readable.flatMap((entry) => read(entry) ?? []);
    },
  };
  const http = { call: <T>() => Promise.resolve(answer as T) } as unknown as Http;
  const tasks = new TaskManager('lab', { clock: new VirtualClock() });
  return { unread, client: createKubernetesClient(http, tasks, undefined, entries) };
}

it('reads pods one by one', async () => {
  const broken = [
    ...[null, {}, { metadata: null }, pod(7), pod('a', { spec: { containers: [null] } })],
    pod('b', { status: { phase: 'Running', containerStatuses: [null] } }),
  ];
  const { client, unread } = clientOf({ metadata: { resourceVersion: '1' }, items: [...broken, pod('whole')] });

  const { items } = await client.list({ kind: 'pods', namespace: 'main', selector: '' }, SIGNAL);
  expect([items, unread]).toEqual([[pod('whole')], ['pods main: 6']]);
});

it('reads quotas and limit ranges one by one', async () => {
  const quota = pod('quota', { status: { hard: { pods: '5' } } });
  const quotas = clientOf({ metadata: {}, items: [null, quota] });
  const range = pod('range', { spec: { limits: [{ type: 'Container' }] } });
  const ranges = clientOf({ metadata: {}, items: [pod('half'), pod('odd', { spec: { limits: [null] } }), range] });

  expect(await quotas.client.getResourceQuotas('main', SIGNAL)).toEqual([quota]);
  expect(await ranges.client.getLimitRanges('main', SIGNAL)).toEqual([range]);
  expect([...quotas.unread, ...ranges.unread]).toEqual(['resourcequotas main: 1', 'limitranges main: 2']);
});

it('says of an answer about one object that it cannot be read', async () => {
  const { client } = clientOf({ metadata: null });

  await expect(client.getNamespace('a', SIGNAL)).rejects.toThrow(/cannot be read/);
  await expect(client.getPod('a', 'b', SIGNAL)).rejects.toThrow(/cannot be read/);
});
