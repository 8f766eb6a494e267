import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger, type ProviderContext } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import { systemClock } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { CloudFileCache } from './find-cloud.js';
import { createOpenStackDriver } from './index.js';

let dir: string;
const file = () => join(dir, 'clouds.yaml');

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodepool-clouds-'));
  const auth = { auth_url: 'https://k.example/v3', username: 'nodepool', password: 'secret', project_name: 'ci' };
  writeFileSync(file(), JSON.stringify({ clouds: { sky: { region_name: 'RegionOne', auth } } }));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('a provider', () => {
  const load = async (clouds: string, more: Record<string, unknown> = {}) => {
    const [file, cloudsFile] = [join(dir, 'nodepool.yaml'), join(dir, 'clouds.yaml')];
    const pool = { name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian', 'min-ram': 1 }] };
    const entry = { name: 'sky', cloud: 'sky', 'cloud-images': [{ name: 'debian' }], pools: [pool], ...more };
    const servers = [{ host: 'localhost' }];
    writeFileSync(
      file,
      JSON.stringify({ 'zookeeper-servers': servers, labels: [{ name: 'small' }], providers: [entry] }),
    );
    writeFileSync(cloudsFile, clouds);
    const driver = createOpenStackDriver();
    const drivers = registryOf(driver);
    const config = await loadConfig({ file, env: { OS_CLIENT_CONFIG_FILE: cloudsFile }, drivers, mode: 'service' });
    return { driver, config, warnings: config.warnings.map(({ message }) => message).join('\n') };
  };
  const auth = 'auth: {auth_url: "https://k.example/v3", username: u, password: hunter2, project_name: p}';

  it('without its cloud is reported, does not affect the others, and cannot be started', async () => {
    const { driver, config, warnings } = await load('clouds: {sea: {}, land: {}}');
    const own = config.providers.get('sky');
    const context = { clock: systemClock, logger: silentLogger } as unknown as ProviderContext;

    expect(warnings).toMatch(/cloud "sky" is not in .*clouds\.yaml: it has sea, land/);
    expect(() => own && driver.getProvider(own, context)).toThrow(/it has sea, land/);
  });

  it('has keys without effect named in one warning', async () => {
    const { warnings } = await load(`clouds: {sky: {${auth}, color: blue, compute_default_microversion: "2.1"}}`);

    expect(warnings).toContain('without effect: color, compute_default_microversion');
  });

  it('is another one when clouds.yaml has changed, and does not show the password in that', async () => {
    const before = await load(`clouds: {sky: {${auth}}}`);
    const after = await load(`clouds: {sky: {${auth}, region_name: north}}`);
    const extras = [before, after].map(({ config }) => config.providers.get('sky')?.equalityExtra);

    expect(extras[0]).not.toEqual(extras[1]);
    expect(JSON.stringify(extras)).not.toContain('hunter2');
  });

  it('cannot have options that were removed', async () => {
    const { warnings } = await load(`clouds: {sky: {${auth}}}`, { 'hostname-format': 'x' });

    expect(warnings).toContain('hostname-format');
  });
});

describe('a clouds.yaml that', () => {
  const read = (files: CloudFileCache, cloud = 'sky') => {
    const problems: string[] = [];
    const problem = (_path: unknown, message: string) => void problems.push(message);
    const context = { labels: new Map(), diskimages: new Map(), env: { OS_CLIENT_CONFIG_FILE: file() }, problem };
    files.reset();
    const entry = { name: 'sky', driver: 'openstack', cloud, pools: [] };
    return { config: readProviderConfig(entry, context, files), problems };
  };

  it.each(['clouds: [', '{}'])('becomes %s leaves a provider as it was, with a warning', (content) => {
    const files = new CloudFileCache();
    const before = read(files).config;
    writeFileSync(file(), content);

    const { config, problems } = read(files);

    expect(config.settings).toEqual(before.settings);
    expect(config.equalityExtra).toEqual(before.equalityExtra);
    expect(problems).toEqual([expect.stringMatching(/clouds\.yaml.*its previous content stays in force$/)]);
  });

  it('has the cloud is watched, and the places for one when there is none', () => {
    expect(read(new CloudFileCache()).config.files).toEqual([file()]);
    expect(read(new CloudFileCache(), 'mars').config.files).toContain(file());
  });
});
