import { expect, it } from 'vitest';
import { SOON_MS } from '../soon.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });

it('the web API lists nodes, requests and labels as they are in ZooKeeper', async () => {
  const launcher = await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
  const zuul = await get().newClient();
  const node = await zuul.getNode('small');
  const waiting = await zuul.submit(['small'], { relativePriority: 3 });

  const answer = (path: string) => expect.poll(() => launcher.getJson(path), { timeout: SOON_MS });
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
