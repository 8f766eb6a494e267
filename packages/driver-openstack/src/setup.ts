import { ConfigError, silentLogger } from '@nodepool/core';
import type { DriverSetup, SetupChoice, SetupContext } from '@nodepool/core/config';
import { OpenStackClient, readCloud, readCloudFiles } from './client/index.js';
import { placesOf } from './client/clouds/find-files.js';

/** Users that images log in with, by a word of their name. */
const USERS: readonly (readonly [word: RegExp, user: string])[] = [
  [/ubuntu/i, 'ubuntu'],
  [/debian/i, 'debian'],
  [/fedora/i, 'fedora'],
  [/alma/i, 'almalinux'],
  [/rocky/i, 'rocky'],
  [/cirros/i, 'cirros'],
];
const USUAL_USER = 'cloud-user';

/** What `nodepool init --cloud openstack` asks. */
export const openStackSetup: DriverSetup = {
  questions: [
    { key: 'cloud', subject: 'cloud of clouds.yaml', choices: listClouds },
    { key: 'image', subject: 'image', choices: ask(listImages) },
    { key: 'flavor', subject: 'flavor', choices: ask(listFlavors) },
    { key: 'network', subject: 'network', optional: true, choices: ask(listNetworks) },
    { key: 'key', subject: 'key pair for logins', optional: true, choices: ask(listKeyPairs) },
    { key: 'username', subject: 'user that the image logs in with', open: true, choices: guessUser },
  ],
  options: ['region'],
  getEntry: ({ cloud, region, image, flavor, network, key, username }, label) => ({
    ...(cloud !== undefined && { cloud }),
    ...(region !== undefined && { 'region-name': region }),
    'cloud-images': [{ name: label, 'image-name': image ?? '', username: username ?? USUAL_USER }],
    pools: [
      {
        name: 'main',
        ...(network !== undefined && { networks: [network] }),
        labels: [
          {
            ...{ name: label, 'cloud-image': label, 'flavor-name': flavor ?? '' },
            ...(key !== undefined && { 'key-name': key }),
          },
        ],
      },
    ],
  }),
};

function listClouds({ env }: SetupContext): SetupChoice[] {
  const names = Object.keys(readCloudFiles({ env }).clouds);
  if (names.length > 0) return names.map((value) => ({ value }));
  const places = placesOf('clouds', { env }, 'OS_CLIENT_CONFIG_FILE').filter((place) => place.endsWith('.yaml'));
  throw new ConfigError(
    `No OpenStack credentials: there is no cloud in ${places.join(', ')}. Download clouds.yaml from the dashboard ` +
      '(API Access), or name the file in OS_CLIENT_CONFIG_FILE',
  );
}

type List = (client: OpenStackClient, signal: AbortSignal) => Promise<SetupChoice[]>;

/** Asks the chosen cloud. */
function ask(list: List): (context: SetupContext) => Promise<SetupChoice[]> {
  return async ({ answers, env, clock, signal }) => {
    const name = answers['cloud'] ?? '';
    const { settings } = readCloud(readCloudFiles({ env }), name, answers['region']);
    const client = new OpenStackClient({ settings, clock, name, logger: silentLogger, random: Math.random });
    try {
      return await list(client, signal);
    } finally {
      await client.close();
    }
  };
}

async function listImages({ image }: OpenStackClient, signal: AbortSignal): Promise<SetupChoice[]> {
  const images = await image.images({ status: 'active' }, signal);
  const names = images.filter(({ status }) => status === 'active').map(({ name }) => name);
  return [...new Set(names)].sort().map((value) => ({ value }));
}

async function listFlavors({ compute }: OpenStackClient, signal: AbortSignal): Promise<SetupChoice[]> {
  const flavors = await compute.flavors(signal);
  flavors.sort((a, b) => a.ramMib - b.ramMib || a.vcpus - b.vcpus);
  return flavors.map(({ name, vcpus, ramMib }) => ({ value: name, note: `${vcpus} CPUs, ${ramMib} MiB` }));
}

async function listNetworks({ network, settings }: OpenStackClient, signal: AbortSignal): Promise<SetupChoice[]> {
  if (!settings.hasNetwork) return [];
  const networks = await network.networks(signal);
  return networks.filter(({ isExternal }) => !isExternal).map(({ name }) => ({ value: name }));
}

async function listKeyPairs({ compute }: OpenStackClient, signal: AbortSignal): Promise<SetupChoice[]> {
  return (await compute.keyPairs(signal)).map((value) => ({ value }));
}

function guessUser({ answers }: SetupContext): SetupChoice[] {
  const known = USERS.find(([word]) => word.test(answers['image'] ?? ''));
  return [{ value: known?.[1] ?? USUAL_USER }];
}
