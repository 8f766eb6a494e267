import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ProviderUnavailableError, type NodeRecord } from '@nodepool/core';
import type { Http, HttpCall } from '../../src/index.js';
import { useControlPlane } from './real-world.js';

const { plane, kubelet, world: start, objects } = useControlPlane();

const OUTAGE_MS = 60_000;
const LIMIT_MS = 400_000;
const BOOKMARK = { timeout: 120_000, interval: 1_000 };
const HOLD = 'example.org/hold';

/** A connection whose watches can be cut, and that notes the errors that watches report. */
function cuttable(http: Http) {
  const state = { isCut: false, cut: new AbortController(), heard: [] as string[] };
  async function* watch<T>(call: HttpCall, signal: AbortSignal) {
    if (state.isCut) throw new ProviderUnavailableError('the test has cut the watch');
    for await (const event of http.watch<T>(call, AbortSignal.any([signal, state.cut.signal]))) {
      if (event.type === 'ERROR') state.heard.push(JSON.stringify(event.object));
      yield event;
    }
  }
  const wrapped: Http = {
    ...{ login: () => http.login(), call: (call, signal) => http.call(call, signal), close: () => http.close(), watch },
    get refusal() {
      return http.refusal;
    },
  };
  return { state, wrapped };
}

function idOf({ externalId }: NodeRecord): string {
  return typeof externalId === 'string' ? externalId : '';
}

/** A launcher repeats the deletion of a node until it succeeds. */
async function untilDone(what: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await what();
      return;
    } catch {
      await pause(1_000);
    }
  }
}

describe('a real API server', () => {
  it(
    'that has forgotten the version of a watch does not hide that a node was deleted',
    async () => {
      const connection: ReturnType<typeof cuttable>[] = [];
      const wrap = (http: Http) => {
        const one = cuttable(http);
        connection.push(one);
        return one.wrapped;
      };
      const world = await start({ wrap, firstNode: 500 });
      const { node } = await world.launch('space');
      const namespace = `api/v1/namespaces/${idOf(node)}`;
      const state = connection[0]?.state;
      if (!state) throw new Error('the driver did not connect');

      state.isCut = true;
      state.cut.abort(new ProviderUnavailableError('the test has cut the watch'));
      await plane().admin.must('DELETE', namespace);
      await expect.poll(async () => (await plane().admin.call('GET', namespace)).status).toBe(404);
      // a new process knows no versions before its start
      await plane().stopApi();
      await plane().startApi();
      expect(world.withdrawn).toEqual([]);
      state.cut = new AbortController();
      state.isCut = false;

      await expect.poll(() => world.withdrawn.map(({ id }) => id), { timeout: 60_000 }).toEqual([node.id]);
      expect(state.heard[0]).toMatch(/too old resource version.*"code":410/);
      // a watch is known to work again with its first event, or the bookmark of each minute
      await expect.poll(() => world.provider.conditions?.(), BOOKMARK).toEqual([]);
      await world.cleanUp(node);
    },
    LIMIT_MS,
  );

  it(
    'that is away for a minute delays launches and deletions, and loses nothing',
    async () => {
      const before = await objects();
      const world = await start({ firstNode: 600 });
      const [ready, leaving] = [await world.launch('small'), await world.launch('small')];
      kubelet().isStarting = false;
      const calls = world.calls.length;
      const launches = Promise.all([world.launch('small'), world.launch('space')]);
      await expect.poll(() => world.calls.slice(calls).includes('pods.create')).toBe(true);
      const deletion = untilDone(() => world.cleanUp(leaving.node));
      await expect.poll(() => world.calls.slice(calls).includes('namespaces.delete')).toBe(true);
      await plane().stopApi();
      const late = world.launch('space');
      await pause(OUTAGE_MS);
      expect(world.provider.conditions?.().map(({ type }) => type)).toContain('WatchFails');
      kubelet().isStarting = true;
      await plane().startApi();
      const beganMs = performance.now();

      const launched = [...(await launches), await late];
      await deletion;

      const afterS = ((performance.now() - beganMs) / 1_000).toFixed(1);
      process.stdout.write(`an outage of 60 s: all done ${afterS} s after the API server was back\n`);
      expect(launched.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
      expect(world.withdrawn.map(({ id }) => id)).not.toContain(ready.node.id);
      await expect.poll(() => world.provider.conditions?.(), BOOKMARK).toEqual([]);
      await Promise.all([ready, ...launched].map(({ node }) => world.cleanUp(node)));
      await expect.poll(objects).toEqual(before);
    },
    LIMIT_MS,
  );

  it('names the finalizers that hold the namespace of a node', async () => {
    const before = await objects();
    const world = await start({ firstNode: 700 });
    const { node } = await world.launch('small');
    const pod = `api/v1/namespaces/${idOf(node)}/pods/small`;
    await plane().admin.must('PATCH', pod, { metadata: { finalizers: [HOLD] } });

    const deletion = world.cleanUp(node);
    const said = () =>
      (world.provider.conditions?.() ?? []).map(({ type, message }) => `${type}: ${message}`).join('\n');
    await expect.poll(said, { timeout: 120_000, interval: 1_000 }).toMatch(new RegExp(`DeletionsHang: .*${HOLD}`));
    expect(world.nodes.has(node.id)).toBe(true);
    await plane().admin.must('PATCH', pod, { metadata: { finalizers: null } });

    await deletion;
    expect(said()).toBe('');
    expect(await objects()).toEqual(before);
  });
});
