import { describe, expect, it } from 'vitest';
import { newRequest, requestPath, type RecordChange, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { useWorld, yamlOf } from '../test/world.js';
import { BackingRequestIndex, deleteRequest } from './backing-request-index.js';

const world = useWorld();

describe('deleteRequest', () => {
  async function requested() {
    await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    const id = await client.ask(['none']);
    const context = {
      committer: { commit: (operations: Parameters<typeof client.zk.multi>[0]) => client.zk.multi(operations) },
    } as never;
    return { path: requestPath(id), context };
  }

  it('deletes a request, and counts a missing one as deleted', async () => {
    const { path, context } = await requested();

    await expect(deleteRequest(context, path)).resolves.toBe(true);
    await expect(deleteRequest(context, path)).resolves.toBe(true);
  });

  it('keeps a request that was written after the given version', async () => {
    const { path, context } = await requested();

    await expect(deleteRequest(context, path, 99)).resolves.toBe(false);
  });
});

it('forgets a request whose number is that of another one, as after a restored database', () => {
  let notify: (change: RecordChange<RequestRecord>) => void = () => undefined;
  const never = () => () => undefined;
  const requests = {
    ...{ onReady: never, values: () => [] },
    onChange: (listener: typeof notify) => {
      notify = listener;
      return () => undefined;
    },
  };
  const context = { requests, nodes: { onChange: never }, zk: { sessionId: 1n } } as never;
  const gone: string[] = [];
  const none = () => undefined;
  const listener = { labelChanged: none, fulfilled: none, failed: none, gone: (id: RequestId) => void gone.push(id) };
  const index = new BackingRequestIndex(context, 'slots', () => 'slot', listener);
  const id = '100-0000000012' as RequestId;
  const made = (requestor: string, eventId: string) =>
    ({ ...newRequest({ labels: ['medium'], requestor, eventId }, 0), id }) as RequestRecord;
  const [own, next, zuuls] = [made('slots', 'a'), made('slots', 'b'), made('zuul', 'c')];
  index.open();

  notify({ id, before: undefined, after: own });
  notify({ id, before: own, after: next });
  const again = index.ofLabel('slot').map(({ eventId }) => eventId);
  notify({ id, before: next, after: zuuls });

  expect([again, index.expected('slot'), gone]).toEqual([['b'], 0, [id, id]]);
});
