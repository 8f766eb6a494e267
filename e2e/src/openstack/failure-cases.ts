import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ZuulClient } from '../zuul-client.js';
import { OpenStackHarness } from './openstack-harness.js';

const PATIENCE_MS = 180_000;
const SERVICES = [
  ...['keystone', 'placement', 'glance-api', 'neutron-server'],
  ...['nova-api', 'nova-conductor', 'nova-scheduler', 'nova-compute'],
  ...['cinder-api', 'cinder-scheduler', 'cinder-volume'],
];
const ON_VOLUME = { 'flavor-name': 'v1.small', 'boot-from-volume': true, 'volume-size': 1 };

/** Has requests served until one is not. @returns its state */
async function firstUnserved(zuul: ZuulClient): Promise<string> {
  const endMs = Date.now() + PATIENCE_MS;
  for (;;) {
    const id = await zuul.submit(['small']);
    const { state } = await zuul.wait(id, PATIENCE_MS);
    if (state !== 'fulfilled' || Date.now() > endMs) {
      await zuul.cancel(id);
      return state;
    }
    await zuul.giveBack(await zuul.take(id, PATIENCE_MS));
  }
}

/** Faults of servers, and unavailable services. */
export function failureCases(get: () => OpenStackHarness): void {
  describe('a server that fails', () => {
    it('without a host fails the request for lack of capacity', async () => {
      const zuul = await get().newClient();
      const launcher = await get().launch(OpenStackHarness.setup({ label: { 'flavor-name': 'm1.impossible' } }));

      const id = await zuul.submit(['small']);
      const { state } = await zuul.wait(id, PATIENCE_MS);
      await zuul.cancel(id);

      expect(state).toBe('failed');
      expect(launcher.log).toContain('No valid host');
      const { counters } = await get().statsd.metrics();
      expect(counters['nodepool.launch.error.capacity']).toBeGreaterThan(0);
    }, 240_000);

    it('is replaced', async () => {
      await get().cloud.setFault('spawn-fail', 1);
      const zuul = await get().newClient();
      await get().launch(OpenStackHarness.setup());

      const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      await zuul.giveBack(nodes);

      expect(nodes).toHaveLength(1);
    }, 240_000);

    it('to go the first time is deleted the second', async () => {
      await get().cloud.setFault('destroy-fail', 1);
      const zuul = await get().newClient();
      await get().launch(OpenStackHarness.setup());
      await zuul.finish(await zuul.submit(['small']), PATIENCE_MS);

      await expect(get().assertClean(90_000)).resolves.toBeUndefined();
    }, 240_000);

    it('whose order is not answered is used all the same', async () => {
      await get().cloud.setFault('http-nova', {
        method: 'POST',
        path: '/servers$',
        status: 502,
        after: true,
        times: 1,
      });
      const zuul = await get().newClient();
      await get().launch(OpenStackHarness.setup());

      const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      const servers = await get().servers();
      await zuul.giveBack(nodes);

      expect(servers.map(({ id }) => id)).toEqual(nodes.map(({ body }) => body['external_id']));
    }, 240_000);
  });

  describe('a service', () => {
    it.each(SERVICES)(
      '%s that is stopped, paused and there again costs nothing but time',
      async (name) => {
        const zuul = await get().newClient();
        const label = name.startsWith('cinder') ? ON_VOLUME : {};
        // what a service that dies had taken in hand is lost, and only a limit of time tells; the cloud may have no host for a while
        const entry = { 'launch-timeout': 60, 'launch-retries': 10 };
        await get().launch(OpenStackHarness.setup({ pool: { networks: ['private'] }, label, entry }));
        const first = await Promise.all([0, 1].map(() => zuul.submit(['small'])));
        await pause(500);
        await get().cloud.stopService(name);
        const second = await zuul.submit(['small']);
        await pause(3_000);
        await get().cloud.startService(name);
        get().cloud.pauseService(name);
        await pause(3_000);
        get().cloud.resumeService(name);

        const nodes = (await Promise.all([...first, second].map((id) => zuul.take(id, PATIENCE_MS)))).flat();
        await zuul.giveBack(nodes);

        expect(nodes).toHaveLength(3);
        await get().assertClean(120_000);
      },
      400_000,
    );
  });

  it('a changed password is used as soon as clouds.yaml has it, without a signal', async () => {
    const old = 'nodepool';
    const env = { OS_CLIENT_CONFIG_FILE: await get().writeClouds(old) };
    const zuul = await get().newClient();
    const launcher = await get().launch(OpenStackHarness.setup({ entry: { 'launch-retries': 1 } }), { env });
    await zuul.finish(await zuul.submit(['small']), PATIENCE_MS);
    try {
      await get().setPassword('changed');
      // Keystone revokes the token at once, but a service accepts one that it has checked for another `token_cache_time`
      const state = await firstUnserved(zuul);
      await get().writeClouds('changed');
      const changedMs = Date.now();
      const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      const tookMs = Date.now() - changedMs;
      await zuul.giveBack(nodes);

      expect(state).toBe('failed');
      expect(launcher.log).toContain('status=401');
      expect(tookMs).toBeLessThan(60_000);
    } finally {
      await get().setPassword(old);
      await get().writeClouds(old);
    }
  }, 500_000);

  it('an expired token is renewed without an error', async () => {
    await get().cloud.setTokenSeconds(30);
    try {
      const zuul = await get().newClient();
      const launcher = await get().launch(OpenStackHarness.setup());
      const logIns = (): number => launcher.log.split('path=/v3/auth/tokens status=201').length - 1;
      const endMs = Date.now() + PATIENCE_MS;
      while (logIns() < 3 && Date.now() < endMs) await zuul.finish(await zuul.submit(['small']), PATIENCE_MS);

      expect(logIns()).toBeGreaterThanOrEqual(3);
      expect(launcher.log).not.toContain('status=401');
    } finally {
      await get().cloud.setTokenSeconds(3_600);
    }
  }, 500_000);
}
