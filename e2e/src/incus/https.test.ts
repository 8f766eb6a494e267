// A real LXD over HTTPS, with a client certificate and a trust token.
import { join } from 'node:path';
import { freePorts, makeTlsFiles } from '@nodepool/test-servers';
import { expect, it } from 'vitest';
import type { IncusSetup } from './incus-harness.js';
import { useIncus } from './use-incus.js';

const get = useIncus();
const PATIENCE_MS = 120_000;

/** Lets the daemon listen. @returns a token, and the connection of a client that has it */
async function remote(): Promise<{ token: string; connection: Record<string, string> }> {
  const { lxd } = get();
  const [port] = await freePorts(1);
  await lxd.lxc(['config', 'set', 'core.https_address', `127.0.0.1:${port}`]);
  const { cert, key } = await makeTlsFiles(join(get().dir, `tls-${port}`));
  const printed = await lxd.lxc(['config', 'trust', 'add', '--name', 'nodepool']);
  const token = printed.trim().split('\n').at(-1) ?? '';
  const connection = { 'client-certificate': cert, 'client-key': key, 'trust-token': token };
  return { token, connection: { address: `https://127.0.0.1:${port}`, ...connection } };
}

async function lend(setup: IncusSetup): Promise<string> {
  const zuul = await get().newClient();
  const launcher = await get().launch(setup);
  const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
  const hostname = await get().ssh(nodes[0] ?? expect.fail('there is no node'), 'hostname');
  await zuul.giveBack(nodes);
  await get().assertClean(PATIENCE_MS);
  await launcher.stop();
  expect(hostname.trim()).toBe(nodes[0]?.body['external_id']);
  return launcher.log;
}

it('trusts the client by the token at the first contact, and by its certificate later', async () => {
  const { token, connection } = await remote();
  const setup = get().setup({}, connection);

  const first = await lend(setup);
  const trusted = await get().lxd.lxc(['config', 'trust', 'list', '--format=csv']);
  const second = await lend(setup); // the daemon takes a token once

  expect(first).toMatch(/Connected to the daemon .*server=LXD/);
  expect(first + second).not.toContain(token);
  expect(trusted.trim().split('\n')).toEqual([expect.stringContaining('nodepool')]);
}, 600_000);

it('sends nothing to a server with another certificate than that of the token, and says so', async () => {
  const { token, connection } = await remote();
  const read = JSON.parse(Buffer.from(token, 'base64').toString()) as Record<string, unknown>;
  const forged = Buffer.from(JSON.stringify({ ...read, fingerprint: '0'.repeat(64) })).toString('base64');
  const launcher = await get().launch(get().setup({}, { ...connection, 'trust-token': forged }));
  const before = await get().lxd.lxc(['config', 'trust', 'list', '--format=csv']);

  await launcher.whenLogged(/has certificate [0-9a-f]{64}, expected 0{64}/, 0, PATIENCE_MS);

  expect(await get().lxd.lxc(['config', 'trust', 'list', '--format=csv'])).toBe(before);
  expect(await get().lxd.instances()).toEqual([]);
}, 300_000);
