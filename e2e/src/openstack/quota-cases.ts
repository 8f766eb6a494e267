import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { QuotaName } from '@nodepool/openstack';
import { OpenStackHarness, type PoolKeys } from './openstack-harness.js';

const onVolume = { label: { 'flavor-name': 'v1.small', 'boot-from-volume': true, 'volume-size': 5 } };

/** What has to be short: enough for one server of this kind. One port is the router's. */
const SHORT: readonly (readonly [QuotaName, number, PoolKeys])[] = [
  ['instances', 1, {}],
  ['cores', 1, {}],
  ['ram', 512, {}],
  ['port', 2, {}],
  ['volumes', 1, onVolume],
  ['gigabytes', 5, onVolume],
  ['floatingip', 1, { pool: { networks: ['private'] } }],
];

/** Quota of each resource. */
export function quotaCases(get: () => OpenStackHarness): void {
  describe('without quota', () => {
    it.each(SHORT)(
      'for %s a request waits, and is served when there is capacity',
      async (name, limit, keys) => {
        const zuul = await get().newClient();
        await get().launch(OpenStackHarness.setup(keys)); // it has seen the limits as they were
        const first = await zuul.take(await zuul.submit(['small']), 90_000);
        await get().cloud.setQuota({ [name]: limit });

        const id = await zuul.submit(['small']);
        await pause(8_000);
        const { body } = await zuul.readRequest(id);
        await zuul.giveBack(first);
        const second = await zuul.take(id, 90_000);
        await zuul.giveBack(second);

        expect(body.state).not.toBe('failed');
        expect(body.state).not.toBe('fulfilled');
      },
      240_000,
    );
  });
}
