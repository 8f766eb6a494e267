import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { children } from '../inventory.js';
import { useElastic } from '../use-harness.js';

const BOOT_S = 30;
const START_S = 2;
/** A boot, the moment before a free node is stopped, and the stop. */
const STOPPED_WITHIN_MS = 120_000;

const get = useElastic({ tickMs: 200, minSessionTimeoutMs: 1000 });

/** A provider that keeps a stopped node, or a ready one. */
const setupOf = (isStopped: boolean) =>
  oneProvider(
    {},
    {
      more: { 'zookeeper-timeout': 1.5 },
      cloudSettings: { 'create-time': BOOT_S, 'start-time': START_S, 'stop-time': 1 },
      labels: { small: { 'min-ready': 1, standby: { keep: isStopped ? 'stopped' : 'running' } } },
    },
  );

const launch = (name: string) => get().launch(setupOf(true), { name });

interface StoredNode {
  readonly state?: string;
  readonly external_id?: string;
  readonly launch_state?: { readonly start?: boolean };
}

/** The instance of a node whose record says that it is stopped. */
async function stoppedOne(): Promise<string> {
  const { zk } = get();
  let id: string | undefined;
  const isStopped = async () => {
    for (const node of await children(zk, '/nodepool/nodes')) {
      const { data } = await zk.getData(`/nodepool/nodes/${node}`);
      const body = JSON.parse(data.toString() || '{}') as StoredNode;
      if (body.state === 'testing' && body.launch_state?.start === true) id = body.external_id;
    }
    return id !== undefined;
  };
  await expect.poll(isStopped, { timeout: STOPPED_WITHIN_MS, interval: 200 }).toBe(true);
  return id ?? '';
}

it('serves a request from a stopped node in seconds', async () => {
  const launcher = await launch('keeper');
  const id = await stoppedOne();
  const zuul = await get().newClient();
  const beganMs = performance.now();

  const nodes = await zuul.getNodes(['small']);
  const tookS = (performance.now() - beganMs) / 1000;
  const { status } = get().cloud.instances.get(id) ?? {};
  await zuul.giveBack(nodes);
  await get().reconfigure(launcher, setupOf(false));
  get().standby = 1;

  expect(nodes.map(({ body }) => body['external_id'])).toEqual([id]);
  expect(status).toBe('active');
  expect(tookS).toBeGreaterThanOrEqual(START_S);
  expect(tookS).toBeLessThan(BOOT_S / 2);
}, 240_000);

it('loses nothing when the launcher is killed while a node is stopped, and while it is being started', async () => {
  const first = await launch('first');
  const id = await stoppedOne();
  await first.kill();
  const second = await launch('second');
  const zuul = await get().newClient();

  const request = await zuul.submit(['small']);
  await get().cloud.until((instances) => instances.some((one) => one.id === id && one.status === 'starting'));
  await second.kill();
  const third = await launch('third');
  const nodes = await zuul.take(request, 60_000);
  await zuul.giveBack(nodes);
  await get().reconfigure(third, setupOf(false));
  get().standby = 1;

  expect(nodes.map(({ body }) => body['external_id'])).toEqual([id]);
}, 240_000);
