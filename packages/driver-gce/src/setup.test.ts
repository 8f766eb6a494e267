import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@nodepool/zk-protocol';
import { FakeCompute, FakeTokens } from '@nodepool/fake-compute';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { COMPUTE_V1 } from './compute-v1.js';
import { gceSetup } from './setup.js';

const { signal } = new AbortController();
let fake: FakeCompute;
let tokens: FakeTokens;
let home = '';
let given: Record<string, string>;

beforeEach(async () => {
  fake = await FakeCompute.start({ description: COMPUTE_V1, clock: systemClock, pageSize: 2 });
  tokens = await FakeTokens.start(fake.tokens);
  home = await mkdtemp(join(tmpdir(), 'gce-setup-'));
  const credentials = join(home, 'key.json');
  await writeFile(credentials, JSON.stringify(tokens.serviceAccount));
  given = { credentials, endpoint: fake.endpoint };
});
afterEach(async () => {
  await tokens.stop();
  await fake.stop();
  await rm(home, { recursive: true });
});

async function choices(key: string, answers: Record<string, string> = {}) {
  const question = gceSetup.questions.find((each) => each.key === key);
  return question?.choices({ answers: { ...given, ...answers }, env: { HOME: home }, clock: systemClock, signal });
}

it('finds project, regions, image families and machine types over all pages', async () => {
  fake.setFamily('debian-cloud', 'debian-12', 'debian-12-v2');
  fake.setFamily('test-project', 'mine', 'mine-v1');
  const project = 'test-project';

  expect(await choices('project')).toEqual([{ value: project }]);
  expect(await choices('region', { project })).toEqual([{ value: 'us-central1' }]);
  expect(await choices('image', { project })).toEqual([
    { value: 'debian-cloud/debian-12' },
    { value: 'test-project/mine' },
  ]);
  expect(await choices('machine-type', { project, region: 'us-central1' })).toEqual([
    { value: 'e2-standard-2', note: '2 CPUs, 8192 MiB' },
    { value: 'e2-highcpu-8', note: '8 CPUs, 8192 MiB' },
    { value: 'e2-standard-4', note: '4 CPUs, 16384 MiB' },
    { value: 'n2-standard-4', note: '4 CPUs, 16384 MiB' },
  ]);
  expect(fake.violations).toEqual([]);
});

it('offers the public keys of the user, or none', async () => {
  expect(await choices('key')).toEqual([]);

  await mkdir(join(home, '.ssh'));
  await writeFile(join(home, '.ssh/id_ed25519.pub'), 'ssh-ed25519 AAAA me\n');
  await writeFile(join(home, '.ssh/id_ed25519'), 'private');

  expect(await choices('key')).toEqual([{ value: 'ssh-ed25519 AAAA me', note: join(home, '.ssh/id_ed25519.pub') }]);
});

it('reports an inaccessible project', async () => {
  await expect(choices('region', { project: 'other' })).rejects.toThrow(/projects\/other/);
});
