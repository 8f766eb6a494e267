import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { ORIGINAL_KUBERNETES, ORIGINAL_PODS, SF_OPERATOR, type Rule } from '../original-rights.js';
import type { World } from '../world.js';
import { useControlPlane } from './real-world.js';

const { plane, world: start } = useControlPlane();
const PODS = ['a', 'b', 'c'].map((name): JsonObject => ({ name, image: 'debian', cpu: 1 }));
const LABELS: JsonObject[] = [
  { name: 'space', type: 'namespace' },
  { name: 'a', type: 'pod', image: 'debian' },
  { name: 'b', type: 'pod', image: 'debian', memory: 64 },
  { name: 'own', type: 'pod', spec: { containers: [{ name: 'own', image: 'debian' }] } },
];

/** What becomes of one node of each label, and the verbs that the provider misses. */
async function served(world: World, pool: string): Promise<{ states: string[]; verbs: string[] }> {
  const labels = [...(world.provider.config.pools.get(pool)?.labels.keys() ?? [])];
  const results = await Promise.all(labels.map((label) => world.launch(label, { poolName: pool })));
  for (const { node } of results) await world.cleanUp(node);
  const conditions = world.provider.conditions?.() ?? [];
  return {
    states: results.map(({ state, error }) => error?.message ?? state),
    verbs: conditions.map(({ type, evidence }) => `${type}: ${String(evidence['verbs'])}`),
  };
}

/** A namespace with an account that has these rules in it, and nothing elsewhere. */
async function inNamespace(name: string, rules: readonly Rule[]): Promise<string> {
  const { admin } = plane();
  const rbac = `apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
  await admin.must('POST', 'api/v1/namespaces', { metadata: { name } });
  await admin.must('POST', `api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name } });
  await admin.must('POST', `${rbac}/roles`, { metadata: { name }, rules });
  await admin.must('POST', `${rbac}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: name }],
  });
  return plane().kubeconfig(name, { token: await plane().token(name, name, 7_200) });
}

describe('openshiftpods', () => {
  it('serves all labels with the role that sf-operator makes', async () => {
    const kubeconfig = await inNamespace('nodepool', SF_OPERATOR);
    const entry = { kubeconfig, context: 'nodepool', pools: [{ name: 'nodepool', labels: PODS }] };
    const world = await start({ driver: 'openshiftpods', entry });

    expect(await served(world, 'nodepool')).toEqual({
      states: ['ready', 'ready', 'ready'],
      verbs: ['RightsMissing: list limitranges, list resourcequotas'],
    });
    expect([...world.provider.errorLabels()]).toEqual([]);
  });

  it("serves all labels with exactly the original's rights", async () => {
    const kubeconfig = await inNamespace('exact', ORIGINAL_PODS);
    const entry = { kubeconfig, context: 'exact', pools: [{ name: 'exact', labels: PODS }] };
    const world = await start({ driver: 'openshiftpods', entry, firstNode: 400 });

    expect(await served(world, 'exact')).toEqual({
      states: ['ready', 'ready', 'ready'],
      verbs: ['RightsMissing: list limitranges, list resourcequotas, watch pods'],
    });
  });
});

describe('kubernetes', () => {
  it("serves all labels with exactly the original's rights", async () => {
    const kubeconfig = await plane().accountKubeconfig('original', ORIGINAL_KUBERNETES);
    const world = await start({ entry: { kubeconfig, pools: [{ name: 'main', labels: LABELS }] }, firstNode: 500 });

    expect(await served(world, 'main')).toEqual({
      states: ['ready', 'ready', 'ready', 'ready'],
      verbs: [
        'RightsMissing: create serviceaccounts/token, escalate roles.rbac.authorization.k8s.io, watch namespaces',
      ],
    });
  });

  it('gives a token of a secret that the API server accepts, with no more rights than its own', async () => {
    const kubeconfig = await plane().accountKubeconfig('secret', ORIGINAL_KUBERNETES);
    const world = await start({ entry: { kubeconfig, pools: [{ name: 'main', labels: LABELS }] }, firstNode: 600 });

    const { node } = await world.launch('space');
    const { token, namespace } = node.connectionPort as { token: string; namespace: string };
    const job = plane().access(token);
    const pods = await job.call('GET', `api/v1/namespaces/${namespace}/pods`);
    const jobs = await job.call('GET', `apis/batch/v1/namespaces/${namespace}/jobs`);
    await job.close();
    await world.cleanUp(node);

    expect([pods.status, jobs.status]).toEqual([200, 403]);
  });
});
