import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSelfSigned } from '@nodepool/test-servers';
import { linesAbout, loadWritten } from '../../test/support/load-config.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { readWebCertificate } from './web-settings.js';

const yaml = (tls: { cert: string; key: string }) => `webapp:\n  tls:\n    cert: ${tls.cert}\n    key: ${tls.key}\n`;

describe('the files of webapp.tls', () => {
  it('are named by the configuration, and read when they are used', async () => {
    const files = await makeSelfSigned(tempDir());
    const { webapp, builderWebapp } = await loadWritten({ yaml: yaml(files), serves: 'webapp' });

    expect([webapp.tls, builderWebapp.tls]).toEqual([{ certFile: files.cert, keyFile: files.key }, undefined]);
    expect(webapp.tls && readWebCertificate(webapp.tls).key.toString()).toContain('PRIVATE KEY');
  });

  it('are errors of the service that uses them, with their place in the file', async () => {
    const dir = tempDir();
    const [one, other] = await Promise.all([makeSelfSigned(dir, 'one'), makeSelfSigned(dir, 'other')]);
    const text = join(dir, 'text');
    await writeFile(text, 'neither certificate nor key', { mode: 0o600 });
    const said = async (tls: { cert: string; key: string }) => {
      const lines = await linesAbout({ yaml: yaml(tls), serves: 'webapp' });
      return lines.map((line) => line.replaceAll(`${dir}/`, ''));
    };

    expect(await said({ ...one, cert: join(dir, 'no.pem') })).toEqual([
      expect.stringMatching(/^nodepool.yaml:3:11: webapp.tls.cert: no.pem cannot be read: ENOENT/),
    ]);
    expect(await said({ ...one, cert: text })).toEqual([
      expect.stringMatching(/^nodepool.yaml:3:11: webapp.tls.cert: text has no certificate in PEM form/),
    ]);
    expect(await said({ ...one, key: join(dir, 'no.key') })).toEqual([
      expect.stringMatching(/^nodepool.yaml:4:10: webapp.tls.key: no.key cannot be read: ENOENT/),
    ]);
    expect(await said({ ...one, key: text })).toEqual([
      expect.stringMatching(/^nodepool.yaml:4:10: webapp.tls.key: text has no PEM key without a passphrase/),
    ]);
    expect(await said({ ...one, key: other.key })).toEqual([
      expect.stringMatching(/^nodepool.yaml:4:10: webapp.tls.key: other.key is not the key of one.pem/),
    ]);
  });

  it('are warnings where the file is only checked, and nothing to other services', async () => {
    const files = await makeSelfSigned(tempDir());
    const missing = yaml({ ...files, key: '/nowhere/web.key' });

    expect(await linesAbout({ yaml: missing, mode: 'validate' })).toEqual([
      expect.stringMatching(/^nodepool.yaml:4:10: webapp.tls.key: warning: \/nowhere\/web.key cannot be read/),
    ]);
    expect(await linesAbout({ yaml: missing, serves: 'builder-webapp' })).toEqual([]);
    expect(await linesAbout({ yaml: missing })).toEqual([]);
  });

  it('are both needed', async () => {
    expect(await linesAbout({ yaml: 'webapp: {tls: {cert: /etc/web.pem}}' })).toEqual([
      expect.stringMatching(/^nodepool.yaml:1:\d+: webapp.tls: .*"key"/),
    ]);
  });
});

describe('other settings of a web server', () => {
  it('name proxies and hosts', async () => {
    const proxies = 'trusted-proxies: [192.0.2.10, 10.0.0.0/8, "2001:db8::/64"]';
    const { webapp, builderWebapp } = await loadWritten({
      yaml: `webapp: {${proxies}, names: [pool.example.org], insecure-tokens: true}`,
    });

    expect(webapp).toMatchObject({ names: ['pool.example.org'], insecureTokens: true });
    expect(webapp.trustedProxies).toEqual([
      { network: '192.0.2.10', prefix: 32, family: 'ipv4' },
      { network: '10.0.0.0', prefix: 8, family: 'ipv4' },
      { network: '2001:db8::', prefix: 64, family: 'ipv6' },
    ]);
    expect(builderWebapp).toMatchObject({ names: [], trustedProxies: [], insecureTokens: false });
  });

  it.each(['proxy.example.org', '10.0.0.0/33', '10.0.0', '10.0.0.0/', ''])('refuse the proxy %j', async (entry) => {
    expect(await linesAbout({ yaml: `builder-webapp: {trusted-proxies: [${JSON.stringify(entry)}]}` })).toEqual([
      `nodepool.yaml:1:36: builder-webapp.trusted-proxies[0]: expected an IP address or a range such as "10.0.0.0/8", got ${JSON.stringify(entry)}`,
    ]);
  });

  it.each(['https://pool.example.org/', 'ftp://pool.example.org', 'a b', 'pool.example.org:'])(
    'refuse the name %j',
    async (name) => {
      expect(await linesAbout({ yaml: `webapp: {names: ["${name}"]}` })).toEqual([
        expect.stringMatching(/^nodepool.yaml:1:18: webapp.names\[0\]: /),
      ]);
    },
  );
});

describe('users of the computer of a launcher', () => {
  it('may lease on its socket if they are in its group, unless the configuration says otherwise', async () => {
    expect((await loadWritten({ yaml: '{}' })).webapp.socketAccess).toBe('group');
    expect((await loadWritten({ yaml: 'webapp: {socket-mode: none}' })).webapp.socketAccess).toBe('none');
    expect((await loadWritten({ yaml: '{}' })).builderWebapp.socketAccess).toBeUndefined();
    expect(await linesAbout({ yaml: 'webapp: {socket-mode: "0660"}' })).toEqual([
      expect.stringMatching(/webapp.socket-mode: .*"none".*"anyone"/),
    ]);
  });

  it('have no leases by anonymous-leases any more, which names the socket', async () => {
    const { warnings } = await loadWritten({ yaml: 'webapp: {anonymous-leases: true}' });

    expect(warnings).toEqual([
      expect.objectContaining({
        ...{ path: 'webapp.anonymous-leases', severity: 'warning' },
        message: expect.stringMatching(/no effect: .*web-socket\/socket in the state directory/) as string,
      }),
    ]);
  });
});
