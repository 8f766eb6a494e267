// A real LXD as the only member of a cluster: zones are members, and a member is a target.
import { freePorts } from '@nodepool/test-servers';
import { expect, it } from 'vitest';
import { useIncus } from './use-incus.js';

const get = useIncus();
const PATIENCE_MS = 120_000;

it('lends containers of a member of a cluster, which is their zone', async () => {
  const { lxd } = get();
  const [port] = await freePorts(1);
  await lxd.lxc(['config', 'set', 'core.https_address', `127.0.0.1:${port}`]);
  await lxd.lxc(['cluster', 'enable', 'server1']);
  const zuul = await get().newClient();
  const launcher = await get().launch(get().setup());

  const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
  const hostname = await get().ssh(nodes[0] ?? expect.fail('there is no node'), 'hostname');
  await zuul.giveBack(nodes);
  await get().assertClean(PATIENCE_MS);

  expect(launcher.log).toMatch(/Connected to the daemon .*isClustered=true/);
  expect(nodes[0]?.body['az']).toBe('server1');
  expect(hostname.trim()).toBe(nodes[0]?.body['external_id']);
}, 300_000);
