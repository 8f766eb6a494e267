import {
  componentCreatePath,
  componentsPath,
  encodeComponent,
  newBuild,
  newComponent,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { debian } from '../../test/support/builds.js';
import { useWorld } from '../../test/support/use-world.js';
import { AbsentBuilders } from './absent-builders.js';

const startWorld = useWorld();

const builtBy = (builder: string, builderId: string) =>
  newBuild({ image: 'debian', id: builderId }, { state: 'ready', builder, builderId }, 0);

async function register(zk: ZooKeeper, hostname: string, raw: Readonly<Record<string, string>> = {}): Promise<string> {
  await zk.ensurePath(componentsPath('builder'));
  const component = newComponent({ kind: 'builder', hostname, state: 'running', version: '1' });
  const options = { ephemeral: true, sequential: true };
  return zk.create(componentCreatePath('builder', hostname), encodeComponent({ ...component, raw }), options);
}

it('follows since when builders of the newest builds are not registered, by id and else by host', async () => {
  const { zk } = await startWorld({ diskimages: debian() });
  const clock = new VirtualClock();
  const absent = new AbsentBuilders({ zk, clock, logger: silentLogger, builderId: 'own' });
  const [own, ours, original] = [builtBy('nb01', 'own'), builtBy('nb02.x.org', 'ours'), builtBy('nb03.x.org', 'other')];
  const since = () => [own, ours, original].map((build) => absent.sinceMs(build));
  await register(zk, 'nb02', { builder_id: 'new disk' });

  await absent.look([own, ours, original]);
  const firstMs = clock.now();
  expect(since()).toEqual([undefined, firstMs, firstMs]);

  await clock.advance(60_000);
  const entry = await register(zk, 'nb03');
  await register(zk, 'nb07', { builder_id: 'ours' });
  await absent.look([own, ours, original]);
  expect(since()).toEqual([undefined, undefined, undefined]);

  await zk.delete(entry);
  await absent.look([own, ours, original]);
  expect(since()).toEqual([undefined, undefined, firstMs + 60_000]);
  await clock.advance(60_000);
  await absent.look([original]);
  expect(since()).toEqual([undefined, undefined, firstMs + 60_000]);
});
