// On a real LXD with a container of 5 MB. More: npm run test:incus.
import { expect, it } from 'vitest';
import { useIncus } from '../incus/use-incus.js';

const get = useIncus();

it('lends a container of a real LXD, with the host keys that are inside', async () => {
  const zuul = await get().newClient();
  await get().launch(get().setup());

  const nodes = await zuul.take(await zuul.submit(['small']), 120_000);
  const hostname = await get().ssh(nodes[0] ?? expect.fail('there is no node'), 'hostname');
  await zuul.giveBack(nodes);

  expect(hostname.trim()).toBe(nodes[0]?.body['external_id']);
});
