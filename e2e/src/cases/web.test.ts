import { expect, it } from 'vitest';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useHarness } from '../use-harness.js';

const get = useHarness({ sshd: { count: 1, keyTypes: ['ed25519'] } });

it('tells nodes, requests and labels over HTTP as they are in ZooKeeper', async () => {
  const [host] = get().sshd.hosts;
  if (!host) throw new Error('no host');
  const launcher = await get().launch(simpleSetup(nodesOf([host], 'small')));
  const zuul = await get().newClient();
  const [node] = await zuul.getNodes(['small']);
  if (!node) throw new Error('no node');
  const waiting = await zuul.submit(['small'], { relativePriority: 3 });

  const [nodes, requests, labels] = await Promise.all(
    ['/node-list', '/request-list', '/label-list'].map((path) => launcher.getJson(path)),
  );
  await zuul.cancel(waiting);
  await zuul.giveBack([node]);

  expect(nodes).toEqual([
    expect.objectContaining({
      id: node.id,
      label: ['small'],
      state: 'in-use',
      locked: 'locked',
      provider: 'static-one',
    }),
  ]);
  expect(requests).toEqual([
    expect.objectContaining({ id: waiting, state: 'requested', relative_priority: 3, node_types: ['small'] }),
  ]);
  expect(labels).toEqual([{ label: 'small' }]);
});
