import type { AdviceCloud, AdviceWorld, ConfigChanges } from './advice-world.js';
import type { Row } from './row.js';

/** A thing that a label names and the cloud lacks, until it is made. */
const lacking = (reason: string, changes: ConfigChanges, advice: RegExp, make: (cloud: AdviceCloud) => void): Row => ({
  ...{ type: 'LabelUnusable', reason, advice },
  begin: (world) => world.configure(changes),
  follow: ({ cloud }) => make(cloud),
  end: (world) => world.configure(),
});

/** Requests a standby node, so that the provider has work. */
const stir = (world: AdviceWorld) => world.configure({ top: { 'min-ready': 1 } });
const clear = (world: AdviceWorld) => {
  world.cloud.faults.length = 0;
};

/** Launches that a fault of the cloud lets fail, until it is put right. */
const failing = (type: string, reason: string, fault: AdviceCloud['faults'][number], advice: RegExp): Row => ({
  ...{ type, reason, advice },
  async begin(world) {
    await world.deleteReadyNodes(); // while there is one, the label is served
    world.cloud.faults.push(fault);
    await stir(world);
  },
  follow: clear,
  end(world) {
    clear(world);
    return world.configure();
  },
});

/** Servers that break in one way, or are never finished, until the cloud makes good ones again. */
const breaking = (type: string, reason: string, fate: string, advice: RegExp, provider = {}): Row => ({
  ...{ type, reason, advice },
  async begin(world) {
    await world.deleteReadyNodes();
    world.cloud.state.fates.push(...Array.from({ length: 100 }, () => fate));
    await world.configure({ top: { 'min-ready': 1 }, provider });
  },
  follow({ cloud }) {
    cloud.state.fates.length = 0;
  },
  end(world) {
    world.cloud.state.fates.length = 0;
    return world.configure();
  },
});

const QUOTA: Row = {
  ...{ type: 'NotServed', reason: 'Quota', advice: /^raise the quota of the cloud project$/ },
  begin(world) {
    world.cloud.state.quota.instances = 0;
    return world.configure(); // limits are read again at a reload
  },
  follow(world) {
    world.cloud.state.quota.instances = -1;
  },
};

const PASSWORD: Row = {
  ...{ type: 'LoginRefused', reason: 'Unauthorized', advice: /^correct the credentials of cloud "sky" in clouds.yaml/ },
  begin(world) {
    world.cloud.password = 'rotated';
    world.cloud.state.tokens.clear();
    return stir(world);
  },
  follow: (world) => world.writeClouds(),
  end: (world) => world.configure(),
};

const UNREADABLE: Row = {
  ...{
    type: 'UnreadableEntries',
    reason: 'Unreadable',
    advice: /repair or delete them; a reload reads all lists at once$/,
  },
  begin(world) {
    world.cloud.broken.push(null);
    return stir(world);
  },
  follow(world) {
    world.cloud.broken.length = 0;
    return world.configure();
  },
};

/** Conditions that end with a change in the cloud. */
export const CLOUD_ROWS: readonly Row[] = [
  lacking('FlavorMissing', { label: { 'flavor-name': 'm1.huge' } }, /flavor/, ({ state }) =>
    state.flavors.push({ id: 'f-9', name: 'm1.huge', vcpus: 8, ram: 16_384 }),
  ),
  lacking(
    'ImageMissing',
    { provider: { 'cloud-images': [{ name: 'debian', 'image-name': 'bookworm' }] } },
    /image/,
    ({ state }) => state.addImage('bookworm'),
  ),
  lacking('NetworkMissing', { pool: { networks: ['dmz'] } }, /network/, ({ state }) =>
    state.networks.push({ ...state.networks[1], id: 'net-dmz', name: 'dmz' }),
  ),
  lacking('KeyPairMissing', { label: { 'key-name': 'ops' } }, /key/, ({ state }) => state.keyPairs.push('ops')),
  lacking(
    'SecurityGroupMissing',
    { pool: { 'security-groups': ['db'] } },
    /create the group in the project$/,
    ({ state }) => state.securityGroups.push({ id: 'sg-9', name: 'db', project_id: 'project-1' }),
  ),
  QUOTA,
  PASSWORD,
  failing('LaunchesFail', 'Unavailable', { path: /compute/, status: 503 }, /^look at the cloud of provider "sky"$/),
  failing(
    'LaunchesFail',
    'Forbidden',
    { method: 'POST', path: /compute\/servers$/, status: 403 },
    /the permission that the message names$/,
  ),
  failing(
    'LabelLaunchesFail',
    'NotFound',
    { method: 'POST', path: /compute\/servers$/, status: 404 },
    /^correct its name in the configuration of provider "sky", or create it in the cloud$/,
  ),
  failing('LaunchesFail', 'Unreachable', { path: /compute/, reset: true }, /^check the endpoint, the network and/),
  failing(
    'LaunchesFail',
    'Error',
    { method: 'POST', path: /compute\/servers$/, status: 400, body: 'it is Monday' },
    /^the log of the service has the details$/,
  ),
  breaking('LaunchesFail', 'Timeout', 'stuck', /^look at the cloud of provider "sky"$/, { 'launch-timeout': 2 }),
  breaking('LaunchesFail', 'InstanceFailed', 'its disk burns', /^look at the image, the flavor and the network of/),
  breaking('LabelLaunchesFail', 'NoCapacity', 'No valid host was found.', /^(look at the flavor, .*)?$/),
  breaking('LabelLaunchesFail', 'NoAddress', 'No more IP addresses available on network 7.', /^free addresses of the/),
  breaking('NotServed', 'LabelFails', 'No more IP addresses available on network 7.', /^free addresses of the/),
  failing('NotServed', 'ProviderFails', { path: /compute/, status: 503 }, /^look at the cloud of provider "sky"$/),
  failing(
    'CallsUnanswered',
    'Timeout',
    { path: /compute\/servers/, silent: true },
    /^look at the API of the cloud of provider "sky"/,
  ),
  failing(
    'CallsUnanswered',
    'Unavailable',
    { method: 'POST', path: /compute\/servers$/, status: 500 },
    /^look at the API of the cloud of provider "sky"$/,
  ),
  UNREADABLE,
];
