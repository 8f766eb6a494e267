import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee } from '../lessee.js';
import { useElastic } from '../use-harness.js';

const WORKERS = 6;
const LEASES_EACH = 5;
const KILLS = 6;
const PAUSE_BETWEEN_KILLS_MS = 1_500;

const get = useElastic({ tickMs: 200, minSessionTimeoutMs: 1000 });

async function start(name: string): Promise<LauncherProcess> {
  const setup = oneProvider({ maxServers: 4 }, { more: { 'zookeeper-timeout': 1.5 } });
  return get().launch(setup, { name, secure: { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] } });
}

describe('a lease whose launcher is killed', () => {
  it.each(['before its answer', 'while it waits', 'when it is active', 'as it ends'])(
    '%s is served by another',
    async (when) => {
      const first = await start('first');
      const second = await start('second');
      const lessee = new Lessee(() => [second.webPort]);
      const key = randomUUID();
      const body = { labels: ['small', 'small'], ttl: 600 };

      if (when === 'before its answer') {
        void Lessee.send(first.webPort, 'POST', '/leases', body, key).catch(() => undefined);
        await delay(5);
        await first.kill();
      } else if (when === 'while it waits') {
        await Lessee.send(first.webPort, 'POST', '/leases', body, key);
        await first.kill();
      }
      const lease = await lessee.lease(body.labels, key);
      if (when === 'when it is active') await first.kill();
      expect(lease).toMatchObject({ state: 'active', nodes: [{}, {}] });
      expect((await lessee.lease(body.labels, key)).id).toBe(lease.id);

      if (when === 'as it ends') {
        void Lessee.send(first.webPort, 'DELETE', `/leases/${lease.id}`).catch(() => undefined);
        await delay(5);
        await first.kill();
      }
      expect((await lessee.end(lease.id)).state).toBe('ended');
      await get().assertClean();
    },
  );
});

it('leases survive launchers that are killed in turn: none is lost, and no node is leased twice', async () => {
  const launchers = [await start('launcher-0'), await start('launcher-1')];
  const leased = new Map<string, string>();
  const ended: string[] = [];

  const work = async () => {
    const lessee = new Lessee(() => launchers.filter(({ isRunning }) => isRunning).map(({ webPort }) => webPort));
    for (let i = 0; i < LEASES_EACH; i++) {
      const lease = await lessee.lease(['small']);
      expect(lease).toMatchObject({ state: 'active', end_reason: null });
      for (const { id } of lease.nodes) {
        expect(leased.get(id)).toBeUndefined();
        leased.set(id, lease.id);
      }
      await delay(100);
      expect(await lessee.get(lease.id)).toMatchObject({ state: lease.state, end_reason: null, nodes: lease.nodes });
      for (const { id } of lease.nodes) leased.delete(id);
      ended.push((await lessee.end(lease.id)).state);
    }
  };
  const allWork = Promise.all(Array.from({ length: WORKERS }, work));
  for (let kills = 0; kills < KILLS; kills++) {
    await Promise.race([delay(PAUSE_BETWEEN_KILLS_MS), allWork]);
    await launchers[kills % 2]?.kill();
    launchers[kills % 2] = await start(`launcher-${kills + 2}`);
  }
  await allWork;

  expect(ended).toEqual(Array<string>(WORKERS * LEASES_EACH).fill('ended'));
}, 300_000);
