import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/core';
import { namesOf } from '@nodepool/kubernetes';
import { killAtEachCall, missedOf } from '../kill-launches.js';
import { LABELS, useControlPlane } from './real-world.js';

const { plane, world: start, objects } = useControlPlane();

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

      const killed = await killAtEachCall(() => ({ entry, nodes }), label, 100);
      const successor = await start({ nodes });
      await Promise.all([...nodes.values()].map((node) => successor.cleanUp(node)));
      await successor.findLeaks();
      await expect.poll(objects).toEqual(before);

      // namespace, account, token, role and binding, and the pod
      expect(missedOf(killed, label === 'space' ? 5 : 6)).toEqual({ calls: [], wrong: [] });
      expect(await configMaps()).toEqual(kept);
    },
  );
});
