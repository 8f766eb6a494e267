import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { children } from '../inventory.js';
import type { LauncherProcess } from '../launcher-process.js';
import { useElastic } from '../use-harness.js';

const NODES = 20;

const get = useElastic({ tickMs: 200, minSessionTimeoutMs: 1000 });
const setup = oneProvider(
  { maxServers: NODES },
  { more: { 'zookeeper-timeout': 1.5 }, cloudSettings: { 'create-time': 4 } },
);

const start = (replaces?: LauncherProcess) => get().launch(setup, { name: 'successor', ...(replaces && { replaces }) });

it.each([
  ['is replaced', (old: LauncherProcess) => start(old)],
  ['is killed', (old: LauncherProcess) => old.kill().then(() => start())],
  [
    'is killed long before its successor starts',
    async (old: LauncherProcess, request: string) => {
      await old.kill();
      await expect
        .poll(() => children(get().zk, `/nodepool/requests-lock/${request}`), { timeout: 30_000 })
        .toEqual([]);
      await start();
    },
  ],
])('all instances that are being made when a launcher %s are used', async (_how, replace) => {
  const old = await get().launch(setup, { name: 'old' });
  const created = new Set<string>();
  get().cloud.onChange(({ id }) => void created.add(id));
  const zuul = await get().newClient();
  const ids = await Promise.all(Array.from({ length: NODES }, () => zuul.submit(['small'])));
  await get().cloud.until((instances) => instances.length === NODES);

  await replace(old, ids[0] ?? '');
  const taken = (await Promise.all(ids.map((id) => zuul.take(id, 60_000)))).flat();

  expect(taken.map(({ body }) => String(body.external_id)).sort()).toEqual([...created].sort());
  await Promise.all(taken.map((node) => zuul.giveBack([node])));
  await get().assertClean();
});
