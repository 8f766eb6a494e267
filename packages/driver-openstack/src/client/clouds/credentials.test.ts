import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenStackClient } from '../index.js';
import { RefusedLogins } from '../refused-logins.js';
import { readProviderConfig } from '../../config.js';
import { CloudFileCache } from '../../find-cloud.js';
import { FakeOpenStack } from '../../../test/fake/fake-openstack.js';

const NEVER = new AbortController().signal;
let dir: string;
let clock: VirtualClock;
let cloud: FakeOpenStack;
let client: OpenStackClient;

const file = () => join(dir, 'clouds.yaml');

/** Replaces clouds.yaml as an editor does. */
async function write(password: string): Promise<void> {
  const auth = { auth_url: cloud.authUrl, username: 'nodepool', password, project_name: 'ci' };
  await writeFile(`${file()}.new`, JSON.stringify({ clouds: { sky: { region_name: 'RegionOne', auth } } }));
  await rename(`${file()}.new`, file());
}

/** A client as a provider has it whose configuration was read from the file as it is now. */
function connect(): OpenStackClient {
  const entry = { name: 'sky', driver: 'openstack', cloud: 'sky', pools: [] };
  const env = { OS_CLIENT_CONFIG_FILE: file() };
  const problem = (_path: unknown, message: string) => {
    throw new Error(message);
  };
  const context = { labels: new Map(), diskimages: new Map(), env, problem };
  const { settings, credentials } = readProviderConfig(entry, context, new CloudFileCache());
  if (!settings) throw new Error('the cloud was not found');
  const logins = new RefusedLogins();
  return new OpenStackClient({
    settings,
    credentials,
    logins,
    clock,
    logger: silentLogger,
    name: 'sky',
    random: () => 0.5,
  });
}

const logins = () => cloud.count('POST', /^identity/);
const look = () => client.compute.flavors(NEVER);
const refused = async () => expect(look()).rejects.toMatchObject({ kind: 'unauthorized' });

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodepool-password-'));
  clock = new VirtualClock();
  cloud = await new FakeOpenStack(clock).listen();
  await write('secret');
  client = connect();
});

afterEach(async () => {
  await client.close();
  await cloud.close();
  await rm(dir, { recursive: true, force: true });
});

describe('a password that was changed in Keystone', () => {
  beforeEach(async () => {
    await look();
    cloud.password = 'new';
    cloud.state.tokens.clear();
  });

  it('is read from clouds.yaml without a failed call, when it is there already', async () => {
    await write('new');

    await expect(look()).resolves.toHaveLength(3);
    expect(logins()).toBe(2);
  });

  it('is tried as soon as clouds.yaml has it, and not before', async () => {
    await refused();
    await refused();
    expect(logins()).toBe(2);

    await write('new');

    await expect(look()).resolves.toHaveLength(3);
    expect(logins()).toBe(3);
    expect(client.refusal).toBeUndefined();
  });

  it('and then changed back is tried as soon as clouds.yaml is touched', async () => {
    await refused();
    cloud.password = 'secret';
    await refused();

    await utimes(file(), new Date(), new Date(Date.now() + 1_000));

    await expect(look()).resolves.toHaveLength(3);
  });

  it('is tried once for each change of clouds.yaml, and the pause grows when it stays wrong', async () => {
    for (let round = 1; round <= 3; round++) {
      await utimes(file(), new Date(), new Date(Date.now() + round * 1_000));
      await refused();
      await refused();
    }
    expect(logins()).toBe(1 + 3);

    await clock.advance(239_000);
    await refused();
    expect(logins()).toBe(4);
    await clock.advance(2_000);
    await refused();
    expect(logins()).toBe(5);
  });

  it.each(['clouds: [', '{}'])('stays as it was while clouds.yaml is %s', async (content) => {
    await writeFile(file(), content);
    cloud.password = 'secret';

    await expect(look()).resolves.toHaveLength(3);
  });
});
