import { expect, it } from 'vitest';
import type { JsonObject, NodeRecord } from '@nodepool/core';
import { httpOf, namesIn, useFakeWorlds } from './fake-world.js';
import { killAtEachCall, missedOf } from './kill-launches.js';

const { fake: startFake, world: startWorld } = useFakeWorlds();
const POOLS: JsonObject[] = [
  {
    name: 'main',
    labels: [
      { name: 'small', type: 'pod', image: 'debian' },
      { name: 'space', type: 'namespace' },
    ],
  },
];

it.each([
  ['space', 0, 5],
  ['small', 0, 6],
  // the pod comes before its account, is refused and made again
  ['small', 200, 7],
])('each call of a launch of "%s" is struck, accounts after %i ms', async (label, accountMs, calls) => {
  const fake = await startFake({ accountMs });
  const before = namesIn(fake, 'namespaces');
  const nodes = new Map<string, NodeRecord>();
  const entry = { context: 'fake', pools: POOLS };

  const killed = await killAtEachCall(() => ({ entry, http: httpOf(fake), nodes }), label, 100);
  const successor = await startWorld(fake, entry, { nodes });
  for (const node of nodes.values()) await successor.cleanUp(node);
  await successor.findLeaks();

  expect(missedOf(killed, calls)).toEqual({ calls: [], wrong: [] });
  expect(namesIn(fake, 'namespaces')).toEqual(before);
});
