import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OpenStackClient } from './index.js';
import { FakeOpenStack } from '../../test/fake/fake-openstack.js';
import { connect } from '../../test/support/client.js';

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
