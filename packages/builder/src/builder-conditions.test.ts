import { systemClock, ZkLock } from '@nodepool/zk-protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { builderConditions } from './builder-conditions.js';
import type { Builder } from './index.js';
import { MAKE_IMAGE, World } from '../test/support/world.js';

let world: World | undefined;
const WAIT = { timeout: 50_000, interval: 20 };

afterEach(async () => {
  await world?.end();
  world = undefined;
});

/** A builder that has built and uploaded an image. */
async function start(): Promise<{ of: World; builder: Builder; found: () => object[] }> {
  const of = await World.start({ diskimages: `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n` });
  world = of;
  const builder = await of.builder();
  // What the builder itself has seen: another session may be ahead of it.
  const uploads = () => [...(builder.tree.images.get('debian')?.uploads.values() ?? [])].map(({ state }) => state);
  await vi.waitFor(() => expect(uploads()).toEqual(['ready']), WAIT);
  return { of, builder, found: () => builderConditions(builder, 'nb01', Date.now()) };
}

it('a builder reports that uploads of a removed provider keep files until the provider is back', async () => {
  const { of, builder, found } = await start();
  const before = found();

  await builder.reconfigure({ ...of.config, providers: new Map() });
  const removed = found();
  await builder.reconfigure(of.config);

  expect([before, found()]).toEqual([[], []]);
  expect(removed).toMatchObject([
    { kind: 'provider', name: 'sky', type: 'UploadsOfRemovedProvider', severity: 'warning' },
  ]);
  expect(removed[0]).toMatchObject({
    message: expect.stringMatching(/its uploads keep builds and their files: debian-\w+$/) as string,
    nextStep: expect.stringContaining('nodepool erase sky') as string,
  });
});

it('a builder reports that another may have its id until it holds the id again', async () => {
  const { of, builder, found } = await start();
  const root = `/nodepool/builder-ids/${builder.id}`;
  const [own = ''] = await of.zk.getChildren(root);
  const other = new ZkLock(of.zk, root, { clock: systemClock, identifier: 'nb02' });
  const taken = other.acquire({});
  await vi.waitFor(async () => expect(await of.zk.getChildren(root)).toHaveLength(2), WAIT);

  await of.zk.delete(`${root}/${own}`);
  await taken;
  await vi.waitFor(() => expect(found()).toMatchObject([{ kind: 'builder', name: 'nb01', type: 'IdNotHeld' }]), WAIT);
  await other.release();

  await vi.waitFor(() => expect(found()).toEqual([]), WAIT);
});
