import { describe, expect, it } from 'vitest';
import type { Driver, Provider } from '@nodepool/core';
import { registryOf } from '@nodepool/core/testing';
import { driver as staticDriver } from '@nodepool/driver-static';
import { REQUESTS_ROOT, systemClock, ZooKeeperError } from '@nodepool/zk-protocol';
import { useSlot, useWorld, yamlOf } from '../test/world.js';
import { driver } from './index.js';

const world = useWorld();

describe('a backing label', () => {
  // Ends: LabelUnusable BackingLabelRefused
  it('that all providers refuse is a condition of the label, until a node arrives', async () => {
    const made: Provider[] = [];
    const getProvider: Driver['getProvider'] = (config, context) => {
      const provider = driver.getProvider(config, context);
      made.push(provider);
      return provider;
    };
    const registry = registryOf(staticDriver, { ...driver, getProvider });
    let aheadMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const yaml = yamlOf({ label: 'grace-time: 600' }).replace('[{name: big},', '[{name: big}, {name: none},');
    const { reconfigure } = await world.launcher(yaml.replaceAll('labels: [big]', 'labels: [none]'), {
      registry,
      clock,
    });
    const client = await world.client();
    await client.ended(await client.ask(['small']));
    aheadMs = 3_600_000; // what lasts does not end when the clock is set
    const refused = made[0]?.conditions?.();
    await reconfigure(yaml);
    await useSlot(client);

    expect(refused).toMatchObject([
      { kind: 'label', name: 'meta/main/small', type: 'LabelUnusable', reason: 'BackingLabelRefused' },
    ]);
    expect(refused?.[0]).toMatchObject({
      nextStep: 'nodepool explain --label big',
      evidence: { backingLabel: 'big' },
    });
    expect(made.flatMap((provider) => provider.conditions?.() ?? [])).toEqual([]);
  });

  it('without a pool fails the request', async () => {
    await world.launcher(yamlOf({}).replace('backing-label: big', 'backing-label: nowhere'));
    const client = await world.client();

    const request = await client.ended(await client.ask(['small']));

    expect(request.state).toBe('failed');
    expect(request.launchError).toContain('backing label "nowhere"');
    await client.until('nothing is left', () => client.backingRequests().length === 0 && client.slots().length === 0);
  });

  it('without a pool leaves no request behind, although the connection breaks when it is removed', async () => {
    let breaks = 0;
    const getProvider: Driver['getProvider'] = (config, context) => {
      const commit: typeof context.committer.commit = async (operations) => {
        const isRemoval = operations.some(({ op, path }) => op === 'delete' && path.startsWith(`${REQUESTS_ROOT}/`));
        if (!isRemoval || ++breaks > 2) return context.committer.commit(operations);
        throw new ZooKeeperError('ZK_CONNECTION_LOSS', 'the connection broke before the reply');
      };
      return driver.getProvider(config, { ...context, committer: { commit } });
    };
    const registry = registryOf(staticDriver, { ...driver, getProvider });
    await world.launcher(yamlOf({}).replace('backing-label: big', 'backing-label: nowhere'), { registry });
    const client = await world.client();

    await client.ended(await client.ask(['small']));

    await client.until('nothing is left', () => client.backingRequests().length === 0);
    expect(breaks).toBeGreaterThan(2);
  });
});
