import { expect, it } from 'vitest';
import { fakeDaemon, SIGNAL } from '../test/support/daemon.js';
import { connectServer } from './server.js';

const token = Buffer.from(JSON.stringify({ client_name: 'ci', fingerprint: 'ab', secret: 's' })).toString('base64');
const connection = (trustToken?: string) => ({
  ...{ address: 'https://server1:8443', clientCertificate: 'c', clientKey: 'k', serverCertificate: undefined },
  trustToken,
});

it.each([
  ['lxd' as const, { product: 'LXD', version: '5.0.2', startsOnCreation: false }],
  ['incus' as const, { product: 'Incus', version: '6.0.0', startsOnCreation: true }],
])('says that it found %s', async (product, expected) => {
  const { client } = fakeDaemon({ product });

  expect(await connectServer(client, connection(), SIGNAL)).toMatchObject(expected);
});

it.each(['lxd' as const, 'incus' as const])('becomes a client of %s with the trust token', async (product) => {
  const { client, daemon } = fakeDaemon({ product, isTrusted: false });

  await connectServer(client, connection(token), SIGNAL);

  expect([...daemon.state.trusted]).toEqual(['ci']);
});

it('says how to be trusted', async () => {
  const { client } = fakeDaemon({ isTrusted: false });

  await expect(connectServer(client, connection(), SIGNAL)).rejects.toThrow(
    /does not trust this client: add its certificate/,
  );
});
