import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/core';
import { namesOf } from '@nodepool/kubernetes';
import type { Http } from '../../src/index.js';
import { World } from '../world.js';
import { LABELS, useControlPlane } from './real-world.js';

const { plane, world: start, objects } = useControlPlane();

/** More calls than a launch makes. */
const MOST_CALLS = 9;

/** A connection that dies with the process at one call: before it, or when it has taken effect. */
function dying(http: Http, at: number, isBefore: boolean, die: () => void): Http {
  let writes = 0;
  return {
    ...{ login: () => http.login(), watch: (call, signal) => http.watch(call, signal), close: () => http.close() },
    call: async (call, signal) => {
      const isWrite = call.verb === 'POST' && !call.path.endsWith('/selfsubjectrulesreviews');
      const isLast = isWrite && ++writes === at;
      if (isLast && isBefore) die();
      const answer = await http.call<never>(call, signal);
      if (isLast) die();
      signal.throwIfAborted();
      return answer;
    },
  };
}

describe('a launcher that dies', () => {
  it.each(['space', 'small'])(
    'at any call of a launch of "%s" leaves nothing that its successor does not delete',
    async (label) => {
      const { admin } = plane();
      const foreign = { name: 'main-0000009999', labels: { nodepool_node_id: '0000009999', app: 'foreign' } };
      await admin.call('POST', 'api/v1/namespaces', { metadata: foreign });
      await admin.call('POST', 'api/v1/namespaces/main-0000009999/configmaps', { metadata: { name: 'kept' } });
      const configMaps = () => namesOf(admin, 'api/v1/namespaces/main-0000009999/configmaps');
      // a controller adds one to each new namespace
      await expect.poll(configMaps).toContain('kube-root-ca.crt');
      const kept = await configMaps();
      const before = await objects();
      const nodes = new Map<string, NodeRecord>();
      const kubeconfig = await plane().adminKubeconfig();
      const entry = { kubeconfig, pools: [{ name: 'main', labels: LABELS }] };
      let firstNode = 100;
      let died = 0;

      const moments = Array.from({ length: MOST_CALLS }, (_, call) =>
        [true, false].map((isBefore) => ({ at: call + 1, isBefore })),
      );
      await Promise.all(
        moments.flat().map(async ({ at, isBefore }) => {
          const end = new AbortController();
          const wrap = (http: Http) =>
            dying(http, at, isBefore, () => {
              if (!world.isDead) died++;
              world.isDead = true;
              end.abort(new Error('its process has died'));
            });
          const world: World = new World({ entry, wrap, nodes, firstNode: firstNode++ });
          await world.provider.start(end.signal);
          await world.launch(label, { signal: end.signal });
          await world.end();
        }),
      );
      const successor = await start({ nodes });
      await Promise.all([...nodes.values()].map((node) => successor.cleanUp(node)));
      await successor.findLeaks();
      await expect.poll(objects).toEqual(before);

      expect(died).toBeGreaterThanOrEqual(label === 'space' ? 10 : 12);
      expect(await configMaps()).toEqual(kept);
    },
  );
});
