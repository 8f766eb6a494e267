import {
  COMPONENTS_ROOT,
  createComponentCache,
  encodeComponent,
  newPoolComponent,
  newRequest,
  type LauncherId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { PoolCandidates } from './pool-candidates.js';
import { PoolRegistry } from './pool-registry.js';

it('a request is not refused by all while the entry of a pool that was just registered is still being read', async () => {
  const world = await ServiceWorld.open();
  const components = createComponentCache(world.services);
  await world.clock.run(components.start());
  const candidates = new PoolCandidates({
    ...{ components, hostname: 'nl01', version: '1', registry: new PoolRegistry(components) },
    outlook: { isCompleteFor: () => true },
  });
  const request = { ...newRequest({ labels: ['a'] }, 0), id: '200-0000000001' as RequestId };
  const names = { hostname: 'nl02', version: '1', launcherId: 'theirs' as LauncherId, name: 'main', providerName: 'p' };
  const entry = encodeComponent(newPoolComponent({ ...names, supportedLabels: ['a'] }));
  await world.clock.run(world.other.ensurePath(`${COMPONENTS_ROOT}/pool`));
  await world.pass(100);

  const before = await world.clock.run(candidates.isRefusedByAll(request));
  const [, after] = await world.clock.run(
    Promise.all([
      world.other.create(`${COMPONENTS_ROOT}/pool/nl02-`, entry, { sequential: true }),
      candidates.isRefusedByAll(request),
    ]),
  );

  expect([before, after]).toEqual([true, false]);
});
