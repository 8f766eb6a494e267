import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { TINY_IMAGE } from '@nodepool/kubernetes';
import { ensureDebianPackages, run } from '@nodepool/test-servers';
import { useControlPlane } from './real-world.js';

const { plane, world: start, objects } = useControlPlane({ realKubelet: true });

const labels: JsonObject[] = [
  { name: 'small', type: 'pod', image: TINY_IMAGE, cpu: 0.1, memory: 32, env: [{ name: 'COLOUR', value: 'green' }] },
  { name: 'large', type: 'pod', image: TINY_IMAGE, cpu: 100_000 },
  { name: 'absent', type: 'pod', image: 'docker.io/library/absent:1', 'image-pull': 'Never' },
  { name: 'brief', type: 'pod', spec: { containers: [{ name: 'a', image: TINY_IMAGE, command: ['/bin/nothing'] }] } },
];
const pools = [{ name: 'main', labels }];

describe('a pod of a real kubelet', () => {
  it('runs commands by kubectl with what the node record holds, and is gone afterwards', async () => {
    await run('kubectl', ['version', '--client']).catch(() => ensureDebianPackages(['kubernetes-client']));
    const before = await objects();
    const world = await start({ entry: { pools } });

    const { state, node, error } = await world.launch('small');

    expect([state, error]).toEqual(['ready', undefined]);
    const { token, host, ca_crt, namespace, pod = '' } = node.connectionPort as Record<string, string>;
    const file = join(plane().folder, 'job.kubeconfig');
    const content = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'node' },
      clusters: [{ name: 'c', cluster: { server: host, 'certificate-authority-data': ca_crt } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'node', context: { cluster: 'c', user: 'u', namespace } }],
    };
    await writeFile(file, JSON.stringify(content), { mode: 0o600 });
    const { stdout } = await run('kubectl', ['--kubeconfig', file, 'exec', pod, '--', 'sh', '-c', 'echo $COLOUR']);
    await rm(file);
    expect(stdout).toBe('green\n');
    await world.cleanUp(node);
    expect(await objects()).toEqual(before);
  });

  it.each([
    ['large', 'NODEPOOL_CAPACITY', 'Insufficient cpu'],
    ['absent', 'NODEPOOL_CONFIG', 'ErrImageNeverPull'],
    ['brief', 'NODEPOOL_LAUNCH_STATUS', '/bin/nothing'],
  ])('of label "%s" says why it does not start, in the words of Kubernetes', async (label, code, why) => {
    const world = await start({ entry: { pools, 'schedule-timeout': 5, 'launch-retries': 1 }, firstNode: 20 });

    const { state, error, node } = await world.launch(label);

    expect([state, String(error)]).toEqual(['failed', expect.stringContaining(why)]);
    expect(error).toMatchObject({ code });
    await world.cleanUp(node);
  });
});
