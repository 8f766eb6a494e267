import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import type { ProviderContext } from '@nodepool/core';
import { silentLogger } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import type { OpenStackClient } from '../src/client/index.js';
import { createOpenStackDriver } from '../src/index.js';
import { FakeOpenStack } from './fake/fake-openstack.js';
import { connect } from './support/client.js';

const NEVER = new AbortController().signal;
let dir: string;
let cloud: FakeOpenStack | undefined;
let client: OpenStackClient | undefined;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodepool-bad-'));
});

afterEach(async () => {
  await client?.close();
  await cloud?.close();
  client = cloud = undefined;
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A certificate that signs itself. */
function makeCertificate(name: string, days: number): { key: string; cert: string; file: string } {
  const [keyFile, file, order] = ['key', 'pem', 'csr'].map((ending) => join(dir, `${name}.${ending}`)) as [
    string,
    string,
    string,
  ];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const who = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  run('req', '-new', ...kind, ...who, '-out', order);
  run(
    'x509',
    '-req',
    '-in',
    order,
    '-signkey',
    keyFile,
    '-copy_extensions',
    'copy',
    '-days',
    String(days),
    '-out',
    file,
  );
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8'), file };
}

describe('TLS', () => {
  const listen = async (days: number) => {
    const files = makeCertificate(`of-${days}`, days);
    cloud = await new FakeOpenStack().listen(files);
    return { cloud, file: files.file };
  };

  it('works with an authority of one’s own', async () => {
    const { cloud, file } = await listen(30);
    client = connect(cloud, { entry: { cacert: file } });

    await expect(client.compute.flavors(NEVER)).resolves.toHaveLength(3);
  });

  it.each([
    ['an unknown authority', 30, {}, /self-signed certificate/],
    ['a certificate that has expired', -1, { cacert: 'own' }, /expired/],
  ])('refuses %s, and sends no password', async (_what, days, entry, message) => {
    const { cloud, file } = await listen(days);
    client = connect(cloud, { entry: 'cacert' in entry ? { cacert: file } : {} });

    await expect(client.connect(NEVER)).rejects.toThrow(message);
    expect(cloud.calls).toEqual([]);
  });

  it('is not checked when the entry says so', async () => {
    const { cloud } = await listen(-1);
    client = connect(cloud, { entry: { verify: false } });

    await expect(client.compute.flavors(NEVER)).resolves.toHaveLength(3);
  });

  it('names a file that cannot be read', async () => {
    const { cloud } = await listen(30);

    expect(() => connect(cloud, { entry: { cacert: '/nowhere/ca.pem' } })).toThrow(
      /cacert \/nowhere\/ca\.pem cannot be read/,
    );
  });
});

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
