import { readFileSync, rmSync, writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Config } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import type { FakeProviderConfig } from './config.js';
import { driver } from './driver.js';

const drivers = registryOf(driver);

function load(provider: string, mode: 'validate' | 'service' = 'validate', stateDir?: string): Promise<Config> {
  const dir = mkdtempSync(join(tmpdir(), 'fake-config-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'nodepool.yaml');
  const lines = provider.split('\n').map((line) => `    ${line}`);
  const labels = 'labels:\n  - name: one\n  - name: two\ndiskimages:\n  - name: built\n    username: builder\n';
  writeFileSync(file, `${labels}providers:\n  - name: fake\n    driver: fake\n${lines.join('\n')}\n`);
  expect(readFileSync(file, 'utf8')).toContain('driver: fake');
  return loadConfig({ file, env: {}, drivers, mode, stateDir });
}

async function loadFake(provider: string, stateDir?: string): Promise<FakeProviderConfig> {
  const config = (await load(provider, 'validate', stateDir)).providers.get('fake');
  // What the driver made itself.
  return config as FakeProviderConfig;
}

const pools = `
pools:
  - name: main
    labels:
      - {name: one, cloud-image: debian, min-ram: 4096}
cloud-images:
  - name: debian
`;

it('has its cloud below the state directory of the launcher, unless another directory is configured', async () => {
  const { cloudDir: usual } = await loadFake(`cloud: east\n${pools}`);
  const { cloudDir: moved } = await loadFake(`cloud: east\n${pools}`, '/srv/np');
  const { cloudDir: own } = await loadFake(`cloud: east\ncloud-settings: {state-dir: /srv/c}\n${pools}`, '/srv/np');

  expect([moved, own]).toEqual(['/srv/np/fake-cloud/east', '/srv/c']);
  expect(usual).toMatch(/nodepool\/fake-cloud\/east$/);
});

describe('a provider entry', () => {
  it('needs no more than images and labels', async () => {
    const config = await loadFake(pools);

    expect(config).toMatchObject({
      cloud: 'fake',
      launchTimeoutMs: 3_600_000,
      bootTimeoutMs: 60_000,
      launchRetries: 3,
      requestsPerSecond: undefined,
      managesImages: false,
      cloudSettings: {},
    });
    expect(config.cloudDir).toMatch(/fake-cloud\/fake$/);
    expect(config.pools.get('main')?.labels.get('one')).toMatchObject({ minRam: 4096, hostKeyChecking: true });
    expect(config.cloudImages.get('debian')).toMatchObject({ imageName: 'debian', connectionPort: 22 });
  });

  it('may be one written for openstack', async () => {
    const config = await loadFake(`
cloud: vexxhost
region-name: ca-ymq-1
boot-timeout: 300
launch-timeout: 900
launch-retries: 2
rate: 0.5
image-name-format: '{image_name}-{timestamp}'
clean-floating-ips: true
port-cleanup-interval: 0
image-upload-timeout: 7200
max-concurrency: 20
priority: 10
diskimages:
  - {name: built, config-drive: true, meta: {key: value}, connection-type: winrm}
cloud-images:
  - {name: debian, image-id: 9fc5a3a8, username: debian, config-drive: true}
pools:
  - name: main
    max-servers: 100
    max-cores: 400
    max-ram: -1
    availability-zones: [ca-ymq-2]
    networks: [public]
    security-groups: [zuul]
    auto-floating-ip: false
    host-key-checking: false
    node-attributes: {key: value}
    labels:
      - name: one
        diskimage: built
        min-ram: 8192
        flavor-name: Performance
        key-name: infra
        console-log: true
        boot-from-volume: true
        volume-size: 80
        networks: [private]
        userdata: "#cloud-config"
        instance-properties: {team: infra, number: 5}
        dynamic-instance-properties: {who: '{request.requestor}'}
      - {name: two, cloud-image: debian, flavor-name: v3-standard-4, host-key-checking: true}`);

    expect(config).toMatchObject({ cloud: 'vexxhost', region: 'ca-ymq-1', requestsPerSecond: 2, launchRetries: 2 });
    const main = config.pools.get('main');
    expect(main).toMatchObject({ maxServers: 100, maxResources: { cores: 400 }, azs: ['ca-ymq-2'] });
    expect(main?.labels.get('one')).toMatchObject({
      ...{ diskimage: 'built', minRam: 8192, flavorName: 'Performance', hostKeyChecking: false, consoleLog: true },
      instanceProperties: { team: 'infra', number: '5' },
    });
    expect(main?.labels.get('two')).toMatchObject({ hostKeyChecking: true, minRam: 0, flavorName: 'v3-standard-4' });
    expect(config.diskimages.get('built')).toMatchObject({ username: 'builder', connectionPort: 5986 });
  });

  it.each([
    ['a removed key', `${pools}hostname-format: x`, 'hostname-format'],
    ['a rate above one', `${pools}cloud-settings: {failures: {quota: 2}}`, 'quota'],
    ['an unknown failure', `${pools}cloud-settings: {failures: {meteor: 1}}`, 'meteor'],
    ['a negative quota', `${pools}cloud-settings: {quota: {instances: -5}}`, 'instances'],
    ['a time that is none', `${pools}cloud-settings: {create-time: soon}`, 'create-time'],
    ['a range turned round', `${pools}cloud-settings: {create-time: {uniform: [5, 1]}}`, 'create-time'],
    ['SSH for the whole world', `${pools}cloud-settings: {ssh: {address: 0.0.0.0}}`, 'loopback'],
    ['a server for the whole world', `${pools}cloud-settings: {listen: '0.0.0.0:80'}`, 'loopback'],
    ['no time to launch', `${pools}launch-timeout: 0`, 'launch-timeout: expected a number > 0, got the number 0'],
    ['no time to boot', `${pools}boot-timeout: 0`, 'boot-timeout: expected a number > 0, got the number 0'],
    ['a label without a size', pools.replace(', min-ram: 4096', ''), 'min-ram'],
    ['a label with two images', pools.replace('min-ram', 'diskimage: built, min-ram'), 'diskimage'],
    ['an unknown image', pools.replace('cloud-image: debian', 'cloud-image: fedora'), 'fedora'],
    ['an unknown label', pools.replace('name: one', 'name: three'), 'three'],
  ])('is refused with %s', async (_what, provider, word) => {
    await expect(load(provider)).rejects.toThrow(word);
  });
});
