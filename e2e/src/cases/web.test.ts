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

  const answer = (path: string) => expect.poll(() => launcher.getJson(path), { timeout: 5_000 });
  await answer('/node-list').toEqual([
    expect.objectContaining({
      id: node.id,
      label: ['small'],
      state: 'in-use',
      locked: 'locked',
      provider: 'static-one',
    }),
  ]);
  await answer('/request-list').toEqual([
    expect.objectContaining({ id: waiting, state: 'requested', relative_priority: 3, node_types: ['small'] }),
  ]);
  await answer('/label-list').toEqual([{ label: 'small' }]);
  await zuul.cancel(waiting);
  await zuul.giveBack([node]);
});
