import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';
import type { ZuulClient } from '../zuul-client.js';

const NODES = 300;
const WAITING = 100;
const BOOT_S = 30;
const AWAY_MS = 5_000;
/** Both groups boot one after the other, on a busy machine. */
const SERVED_MS = 4 * BOOT_S * 1000;

const get = useElastic();
const setup = oneProvider({ maxServers: NODES }, { cloudSettings: { 'create-time': BOOT_S } });

const submit = (zuul: ZuulClient, count: number) =>
  Promise.all(Array.from({ length: count }, () => zuul.submit(['small'])));

/** Waits for a request, and gives its node back at once. @returns the instance */
async function useOnce(zuul: ZuulClient, id: string): Promise<string> {
  const [node, ...more] = await zuul.take(id, SERVED_MS);
  if (!node || more.length > 0) throw new Error(`request ${id} was not fulfilled with one node`);
  await zuul.giveBack([node]);
  return String(node.body.external_id);
}

it('an upgrade of three launchers and an outage of ZooKeeper throw no instance away and fail no request', async () => {
  const launchers = await Promise.all(['one', 'two', 'three'].map((name) => get().launch(setup, { name })));
  const made = new Set<string>();
  get().cloud.onChange(({ id }) => void made.add(id));
  const zuul = await get().newClient();
  const underWay = await submit(zuul, NODES);
  await get().cloud.until((instances) => instances.length === NODES);
  const waiting = await submit(zuul, WAITING);

  const served = Promise.all([...underWay, ...waiting].map((id) => useOnce(zuul, id)));
  const upgraded = (async () => {
    for (const old of launchers) {
      const next = await get().launch(setup, { name: `${old.name}-next`, replaces: old });
      await next.whenLogged(/Service started/);
    }
    get().zookeeper.pause();
    await delay(AWAY_MS);
    get().zookeeper.resume();
  })();
  const [used] = await Promise.all([served, upgraded]);

  expect(used).toHaveLength(NODES + WAITING);
  expect(used.sort()).toEqual([...made].sort());
});
