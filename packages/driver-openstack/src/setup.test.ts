import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeOpenStack } from '../test/fake/fake-openstack.js';
import { openStackSetup } from './setup.js';

const { signal } = new AbortController();
let cloud: FakeOpenStack;
let directory = '';
let file = '';

beforeEach(async () => {
  cloud = await new FakeOpenStack().listen();
  directory = await mkdtemp(join(tmpdir(), 'openstack-setup-'));
  file = join(directory, 'clouds.yaml');
  await writeFile(file, JSON.stringify({ clouds: { sky: cloud.entry, rain: {} } }));
});
afterEach(async () => {
  await cloud.close();
  await rm(directory, { recursive: true });
});

async function choices(key: string, answers: Record<string, string> = { cloud: 'sky' }) {
  const question = openStackSetup.questions.find((each) => each.key === key);
  const env = { OS_CLIENT_CONFIG_FILE: file };
  return question?.choices({ answers, env, clock: systemClock, signal });
}

it('offers the clouds of clouds.yaml', async () => {
  expect(await choices('cloud', {})).toEqual([{ value: 'sky' }, { value: 'rain' }]);
});

it('lists active images once each, flavors from small to large, and key pairs', async () => {
  cloud.state.addImage('alpine');
  cloud.state.addImage('alpine');
  cloud.state.addImage('broken', { status: 'queued' });

  expect(await choices('image')).toEqual([{ value: 'alpine' }, { value: 'debian' }]);
  const flavors = (await choices('flavor')) ?? [];
  expect(flavors[0]).toEqual({ value: 'm1.tiny', note: '1 CPUs, 512 MiB' });
  expect(flavors).toHaveLength(cloud.state.flavors.length);
  expect(await choices('key')).toEqual([{ value: 'ci' }]);
  expect(await choices('network')).not.toContainEqual({ value: 'floating' });
});

it('guesses the user from the name of the image', async () => {
  expect(await choices('username', { image: 'Ubuntu 24.04' })).toEqual([{ value: 'ubuntu' }]);
  expect(await choices('username', { image: 'appliance' })).toEqual([{ value: 'cloud-user' }]);
});

it('names the places searched for credentials, and explains a refused login', async () => {
  await rm(file);
  await expect(choices('cloud', {})).rejects.toThrow(`there is no cloud in ${file}`);

  await writeFile(file, JSON.stringify({ clouds: { sky: cloud.entry } }));
  cloud.password = 'changed';
  await expect(choices('image')).rejects.toThrow(/401|password|credentials/i);
});
