import { REQUESTS_ROOT, patientClock } from '@nodepool/zk-protocol';
import type { RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { FakeLauncher } from '../../test/fake-launcher.js';
import { useWorld } from '../../test/world.js';
import { deleteRequest, submitRequest, waitForRequest } from './request.js';

const get = useWorld();
const SPEC = { labels: ['small'], provider: undefined, priority: 200, requestor: 'NodePool:cli:alice@desk' };

/** Submits a request, and waits for it. @returns what it saw, and the end */
async function submit(signal = new AbortController().signal) {
  const zk = await get().connect();
  const id = await submitRequest(zk, patientClock, SPEC);
  const seen: string[] = [];
  const onChange = ({ state }: { state: string }) => void seen.push(state);
  return { zk, id, seen, end: waitForRequest(id, { zk, clock: patientClock, signal, onChange }) };
}

it('asks as Zuul does, but with a request that cannot outlive the session', async () => {
  const zk = await get().connect();

  const id = await submitRequest(zk, patientClock, { ...SPEC, labels: ['a', 'b', 'a'], priority: 100 });

  const request = await new FakeLauncher(get().zk).nextRequest();
  expect([id, request.id]).toEqual([request.id, expect.stringMatching(/^100-\d{10}$/)]);
  expect(request).toMatchObject({
    state: 'requested',
    labels: ['a', 'b', 'a'],
    reuse: true,
    requestor: SPEC.requestor,
  });
  expect(request.stat?.ephemeralOwner).toBe(zk.sessionId);
});

it('resolves with the fulfilled request, after each state on the way', async () => {
  const launcher = new FakeLauncher(get().zk);
  const { seen, end } = await submit();
  const request = await launcher.nextRequest();
  await expect.poll(() => seen).toEqual(['requested']);
  await launcher.store(request, { state: 'pending' });
  await expect.poll(() => seen).toEqual(['requested', 'pending']);
  await launcher.store(request, { state: 'fulfilled', nodeIds: [] });

  expect((await end).state).toBe('fulfilled');
});

it.each([
  [
    {
      state: 'failed' as const,
      declineReasons: { worker: { rule: 'label', text: 'label small is not here', timeMs: 0 } },
    },
    /for small failed: label small is not here$/,
  ],
  [{ state: 'failed' as const, launchError: 'no quota' }, /for small failed: no quota$/],
  [{ state: 'failed' as const, declinedBy: ['a', 'b'] }, /for small failed: all 2 pools declined it$/],
])('says why a request failed: %j', async (change, message) => {
  const launcher = new FakeLauncher(get().zk);
  const { end } = await submit();
  const outcome = expect(end).rejects.toThrow(message);

  await launcher.store(await launcher.nextRequest(), change);

  await outcome;
});

it('reports that another process deleted the request', async () => {
  const { id, end } = await submit();
  const outcome = expect(end).rejects.toThrow(`Request ${id} was deleted by another process`);

  await deleteRequest(get().zk, id);

  await outcome;
});

it('ends the wait with the reason of the signal', async () => {
  const abort = new AbortController();
  const { end } = await submit(abort.signal);
  const outcome = expect(end).rejects.toThrow('Ctrl-C');

  abort.abort(new Error('Ctrl-C'));

  await outcome;
});

it('treats a missing request as deleted', async () => {
  await expect(deleteRequest(get().zk, '200-0000000001' as RequestId)).resolves.toBeUndefined();
  expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
});
