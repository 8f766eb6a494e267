import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/core';
import { ApiAccess } from '@nodepool/kubernetes';
import { ensureDebianPackages, run } from '@nodepool/test-servers';
import { useControlPlane } from './real-world.js';

const { plane, kubelet, world: start, objects } = useControlPlane();

function portOf(node: NodeRecord): Record<string, string> {
  return node.connectionPort as Record<string, string>;
}

describe('a node of a real cluster', () => {
  it('is a namespace in which its token may work, and nowhere else', async () => {
    const before = await objects();
    const world = await start();
    const { state, node } = await world.launch('space');

    expect(state).toBe('ready');
    const { token = '', host = '', ca_crt = '', namespace = '' } = portOf(node);
    const job = new ApiAccess(host, { ca: Buffer.from(ca_crt, 'base64').toString(), token });
    const inside = await job.call('POST', `api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'a' } });
    const outside = await job.call('GET', 'api/v1/namespaces/default/pods');
    await job.close();
    expect([inside.status, outside.status]).toEqual([201, 403]);

    await world.cleanUp(node);
    expect(await objects()).toEqual(before);
  });

  it('is a pod that kubectl reaches with what the node record holds', async () => {
    // another package may have it
    await run('kubectl', ['version', '--client']).catch(() => ensureDebianPackages(['kubernetes-client']));
    const folder = await mkdtemp(join(tmpdir(), 'kubectl-'));
    const world = await start();
    const { node } = await world.launch('small');
    const { token, host, ca_crt, namespace, user, pod = '' } = portOf(node);
    const file = join(folder, 'config');
    const content = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'node' },
      clusters: [{ name: 'c', cluster: { server: host, 'certificate-authority-data': ca_crt } }],
      users: [{ name: user, user: { token } }],
      contexts: [{ name: 'node', context: { cluster: 'c', user, namespace } }],
    };
    await writeFile(file, JSON.stringify(content));

    const shown = await run('kubectl', ['--kubeconfig', file, 'get', 'pod', pod, '-o', 'jsonpath={.status.phase}']);
    const mayExec = await run('kubectl', [
      '--kubeconfig',
      file,
      'auth',
      'can-i',
      'create',
      'pods',
      '--subresource=exec',
    ]);
    const mayMake = await run('kubectl', ['--kubeconfig', file, 'auth', 'can-i', 'create', 'pods']).catch(
      (error: unknown) => error as { stdout: string },
    );

    await rm(folder, { recursive: true });
    expect([shown.stdout, mayExec.stdout.trim(), mayMake.stdout.trim()]).toEqual(['Running', 'yes', 'no']);
    await world.cleanUp(node);
  });

  it.each([
    ['missing', 'NODEPOOL_CONFIG', 'ErrImagePull'],
    ['nowhere', 'NODEPOOL_CAPACITY', 'node affinity'],
  ])('of label "%s" says why its pod does not start', async (label, code, why) => {
    const before = await objects();
    const world = await start({ entry: { 'schedule-timeout': 1, 'launch-retries': 1 } });

    const { state, error, node } = await world.launch(label);

    expect(state).toBe('failed');
    expect(error).toMatchObject({ code, message: expect.stringContaining(why) as string });
    await world.cleanUp(node);
    expect(await objects()).toEqual(before);
  });

  it('is launched after an outage of the API server', async () => {
    const world = await start();
    kubelet().isStarting = false;
    const launches = Promise.all([world.launch('small'), world.launch('space')]);
    await expect.poll(() => world.calls.includes('pods.create')).toBe(true);
    await plane().stopApi();
    kubelet().isStarting = true;
    const other = world.launch('space');
    await plane().startApi();

    const results = [...(await launches), await other];

    expect(results.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
    await Promise.all(results.map(({ node }) => world.cleanUp(node)));
  });

  it('is launched after an expired token was replaced', async () => {
    const file = join(plane().folder, 'token');
    await plane().accountKubeconfig('renewed', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
    await writeFile(file, 'expired');
    const kubeconfig = await plane().kubeconfig('with-token-file', { tokenFile: file });
    await expect(start({ entry: { kubeconfig } })).rejects.toThrow('401');
    await writeFile(file, await plane().token('default', 'renewed', 3_600));

    const world = await start({ entry: { kubeconfig } });
    const { state, node } = await world.launch('space');

    expect(state).toBe('ready');
    await world.cleanUp(node);
  });

  it('of a shared namespace waits while its quota is lower than its use', async () => {
    const { admin } = plane();
    const quota = 'api/v1/namespaces/ci/resourcequotas';
    const isPods = async (amount: string) => {
      const { body } = await admin.call('GET', `${quota}/pods`);
      return (body['status'] as { hard?: { pods?: string } } | undefined)?.hard?.pods === amount;
    };
    await admin.must('POST', 'api/v1/namespaces', { metadata: { name: 'ci' } });
    await admin.must('POST', quota, { metadata: { name: 'pods' }, spec: { hard: { pods: '2' } } });
    await expect.poll(() => isPods('2')).toBe(true);
    const entry = { context: 'admin', pools: [{ name: 'ci', labels: [{ name: 'small', image: 'debian' }] }] };
    const world = await start({ driver: 'openshiftpods', entry });
    const first = await world.launch('small', { poolName: 'ci' });
    const second = await world.launch('small', { poolName: 'ci' });
    await admin.must('PATCH', `${quota}/pods`, { spec: { hard: { pods: '1' } } });
    await expect.poll(() => isPods('1')).toBe(true);
    world.provider.quota?.invalidateQuotaCache();

    const third = await world.launch('small', { poolName: 'ci' });

    expect([first.state, second.state, third.state]).toEqual(['ready', 'ready', 'aborted']);
    expect(third.error).toMatchObject({ code: 'NODEPOOL_QUOTA' });
    await expect.poll(() => world.provider.quota?.estimatedNodepoolQuota()).toMatchObject({ instances: 1 });
    await Promise.all([first, second, third].map(({ node }) => world.cleanUp(node)));
    expect(await admin.list('api/v1/namespaces/ci/pods')).toEqual([]);
  });
});
