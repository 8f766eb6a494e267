// New builds that launches try, with real launchers and a real builder.
import {
  decodeRequest,
  encodeRequest,
  imageBuildRequestPath,
  imagePausePath,
  newRequest,
  NODES_ROOT,
  requestPath,
  REQUESTS_ROOT,
  type RequestId,
} from '@nodepool/zk-protocol';
import { imageConditions, isInService } from '@nodepool/core/service';
import { describe, expect, it, vi } from 'vitest';
import { useWorld, whenReady } from './support/use-world.js';
import { MAKE_IMAGE, type World } from './support/world.js';

const WAIT = { timeout: 120_000, interval: 20 };
const LIMITS = { timeout: 300_000 };
const DEBIAN = `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n  canary: {}\n`;

const startWorld = useWorld();
const ready = (of: World, count: number) => whenReady(of, count, WAIT);

/** Creates two builds; the second is on trial. @returns their cloud ids, and the instances created from now on */
async function start(launchers = 1) {
  const of = await startWorld({ diskimages: DEBIAN });
  await of.zk.ensurePath(NODES_ROOT);
  await of.zk.ensurePath(REQUESTS_ROOT);
  await of.builder();
  await ready(of, 1);
  const [old = { id: '' }] = of.cloud.cloud.images();
  for (let i = 0; i < launchers; i++) await of.launcher();
  await of.zk.create(imageBuildRequestPath('debian'));
  await ready(of, 2);
  const { id = '' } = of.cloud.cloud.images().find(({ id }) => id !== old.id) ?? {};
  const made = new Map<string, Set<string>>();
  of.cloud.cloud.onChange(({ id, instance }) => {
    if (instance) made.set(instance.image, (made.get(instance.image) ?? new Set()).add(id));
  });
  return { of, old: old.id, next: id, madeOf: (image: string) => made.get(image)?.size ?? 0 };
}

/** Requests nodes one after another. @returns the final state of each request */
async function launch(of: World, count: number): Promise<string[]> {
  const states: string[] = [];
  for (let i = 0; i < count; i++) {
    const body = encodeRequest(newRequest({ labels: ['small'], requestor: 'zuul' }, Date.now()));
    const path = await of.zk.create(`${REQUESTS_ROOT}/100-`, body, { sequential: true });
    const id = path.slice(path.lastIndexOf('/') + 1) as RequestId;
    states.push(await vi.waitFor(() => ended(of, id), WAIT));
  }
  return states;
}

async function ended(of: World, id: RequestId): Promise<string> {
  const { data, stat } = await of.zk.getData(requestPath(id));
  const state = decodeRequest(id, data, stat, 0)?.state ?? '';
  if (state !== 'fulfilled' && state !== 'failed') throw new Error(`request ${id} is ${state}`);
  return state;
}

const serves = (of: World) => isInService(of.lastBuild('debian') ?? expect.fail());

describe('a build on trial', () => {
  // Ends: BuildWithdrawn LaunchesFailed
  it(
    'reaches at most five nodes if it is broken, which is a condition until it is unpaused; no request fails',
    LIMITS,
    async () => {
      const { of, old, next, madeOf } = await start(2);
      of.cloud.cloud.set('broken-images', [next]);

      const states = await launch(of, 100);

      expect(states).toEqual(Array(100).fill('fulfilled'));
      expect(madeOf(next)).toBeLessThanOrEqual(5);
      expect(madeOf(old)).toBe(100);
      expect(of.tree.images.get('debian')).toMatchObject({
        paused: true,
        pauseReason: expect.stringMatching(
          /was withdrawn: ([34]) of \1 launches failed, of the build before it 0 of .* probability of 0\.\d\d %/,
        ) as string,
      });
      await ready(of, 1);
      await vi.waitFor(() => expect(of.cloud.cloud.images().map(({ id }) => id)).toEqual([old]), WAIT);
      const conditions = () =>
        imageConditions(of.config.diskimages.values(), of.tree.images, Date.now()).map(({ type }) => type);
      expect(conditions()).toContain('BuildWithdrawn');
      await of.zk.delete(imagePausePath('debian')); // nodepool image-unpause
      await vi.waitFor(() => expect(conditions()).not.toContain('BuildWithdrawn'), WAIT);
    },
  );

  it('gets all launches once a node of it was ready', LIMITS, async () => {
    const { of, next, madeOf } = await start();

    await launch(of, 1);
    await vi.waitFor(() => expect(serves(of)).toBe(true), WAIT);
    const before = madeOf(next);
    await launch(of, 3);

    expect(madeOf(next)).toBe(before + 3);
  });

  it('is kept while nothing can be launched, and is tried again afterwards', LIMITS, async () => {
    const { of, next, madeOf } = await start();
    of.cloud.cloud.set('failures.error-state', 1);

    expect(await launch(of, 4)).toEqual(Array(4).fill('failed'));
    expect(madeOf(next)).toBeGreaterThan(0);
    expect(of.states('debian').builds).toEqual(['ready', 'ready']);
    expect(of.tree.images.get('debian')?.paused).toBe(false);

    of.cloud.cloud.set('failures.error-state', 0);
    await launch(of, 2);
    await vi.waitFor(() => expect(serves(of)).toBe(true), WAIT);
  });
});
