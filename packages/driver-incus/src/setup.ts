import { isNodepoolError, TaskManager } from '@nodepool/core';
import type { DriverSetup, SetupChoice, SetupContext } from '@nodepool/core/config';
import { IncusClient } from './client.js';
import { connectServer } from './server.js';
import { createTransport, findLocalSocket, type ConnectionConfig } from './transport.js';

/** What `nodepool init --cloud incus` asks. */
export const incusSetup: DriverSetup = {
  questions: [
    {
      key: 'address',
      subject: 'address of the daemon (unix:/PATH or https://HOST:PORT)',
      open: true,
      choices: localSockets,
    },
    { key: 'image', subject: 'image (alias or fingerprint)', choices: ask(listImages) },
    { key: 'network', subject: 'network', optional: true, choices: ask(listNames('networks')) },
    { key: 'username', subject: 'user to log in with', open: true, choices: () => [{ value: 'root' }] },
  ],
  options: ['client-certificate', 'client-key', 'server-certificate', 'trust-token', 'project'],
  getEntry: ({ address, image = '', network, username = 'root', ...options }, label) => {
    const isFingerprint = /^[0-9a-f]{64}$/.test(image);
    return {
      ...(address !== undefined && { address }),
      ...Object.fromEntries(
        incusSetup.options?.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])) ?? [],
      ),
      'cloud-images': [{ name: label, [isFingerprint ? 'image-fingerprint' : 'image-alias']: image, username }],
      pools: [
        { name: 'main', labels: [{ name: label, 'cloud-image': label, ...(network !== undefined && { network }) }] },
      ],
    };
  },
};

/** The socket of a daemon on this machine, if there is one. */
function localSockets({ env }: Pick<SetupContext, 'env'>): SetupChoice[] {
  try {
    return [{ value: `unix:${findLocalSocket(env)}` }];
  } catch (error) {
    if (isNodepoolError(error, 'NODEPOOL_CONFIG')) return []; // it may be on another machine
    throw error;
  }
}

type List = (client: IncusClient, signal: AbortSignal) => Promise<SetupChoice[]>;

/** Asks the chosen daemon. */
function ask(list: List): (context: SetupContext) => Promise<SetupChoice[]> {
  return async ({ answers, env, clock, signal }) => {
    const token = answers['trust-token'];
    const variable = /^%\((\w+)\)$/.exec(token ?? '')?.[1];
    const connection: ConnectionConfig = {
      address: answers['address'],
      clientCertificate: answers['client-certificate'],
      clientKey: answers['client-key'],
      serverCertificate: answers['server-certificate'],
      trustToken: (variable === undefined ? undefined : env[variable]) ?? token,
    };
    const transport = createTransport(connection);
    const tasks = new TaskManager('setup', { clock });
    const client = new IncusClient({ transport, tasks, clock, project: answers['project'] ?? 'default' });
    try {
      await connectServer(client, connection, signal);
      await client.projectConfig(signal);
      return await list(client, signal);
    } finally {
      tasks.stop();
      await client.close();
    }
  };
}

async function listImages(client: IncusClient, signal: AbortSignal): Promise<SetupChoice[]> {
  const images = await client.images(signal);
  return images.map(({ fingerprint, aliases, properties, type }) => ({
    value: aliases[0]?.name ?? fingerprint,
    note: [properties['description'], type].filter((part) => part !== undefined).join(', '),
  }));
}

function listNames(kind: 'networks'): List {
  return async (client, signal) => (await client.names(kind, signal)).map((value) => ({ value }));
}
