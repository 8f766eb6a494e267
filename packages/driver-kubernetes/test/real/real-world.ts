import { afterAll, afterEach, beforeAll } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { ControlPlane, ensureBuilt, Kubelet, namesOf, programFolder, StandInKubelet } from '@nodepool/kubernetes';
import { World, type WorldOptions } from '../world.js';

/** Labels of the pool `main`. */
export const LABELS: JsonObject[] = [
  { name: 'space', type: 'namespace' },
  { name: 'small', type: 'pod', image: 'debian', cpu: 1, memory: 64 },
  { name: 'missing', type: 'pod', image: 'registry.example.org/missing' },
  { name: 'nowhere', type: 'pod', image: 'debian', 'node-selector': { disk: 'tape' } },
];

const KINDS = ['api/v1/namespaces', 'api/v1/pods', 'apis/rbac.authorization.k8s.io/v1/roles'];

/**
 * A real control plane for all tests of a file, with a stand-in for its kubelets.
 * @param realKubelet - a real one instead, which runs containers
 */
export function useControlPlane({ realKubelet = false } = {}) {
  const worlds: World[] = [];
  const started: { plane?: ControlPlane; kubelet?: StandInKubelet; realKubelet?: Kubelet } = {};
  beforeAll(async () => {
    const programs = await ensureBuilt(programFolder(process.env));
    started.plane = await ControlPlane.start({ programs });
    if (realKubelet) started.realKubelet = await Kubelet.start(started.plane, programs);
    else started.kubelet = await StandInKubelet.start(started.plane.admin);
  });
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.end();
  });
  afterAll(async () => {
    await started.kubelet?.stop();
    await started.realKubelet?.stop();
    await started.plane?.stop();
  });
  const plane = (): ControlPlane => {
    if (!started.plane) throw new Error('the control plane did not start');
    return started.plane;
  };
  return {
    plane,
    kubelet: (): StandInKubelet => {
      if (!started.kubelet) throw new Error('the kubelet did not start');
      return started.kubelet;
    },
    /** Starts a provider. */
    world: async (options: Partial<WorldOptions> = {}): Promise<World> => {
      const pools = [{ name: 'main', labels: LABELS }];
      const entry = { kubeconfig: await plane().adminKubeconfig(), pools, ...options.entry };
      const world = await World.start({ ...options, entry });
      worlds.push(world);
      return world;
    },
    /** Names of all namespaces, pods and roles. */
    objects: async (): Promise<string[]> => {
      const all = await Promise.all(KINDS.map((path) => namesOf(plane().admin, path)));
      return all.flat();
    },
  };
}
