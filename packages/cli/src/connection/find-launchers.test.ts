import { describe, expect, it } from 'vitest';
import { newComponent, newPoolComponent } from '@nodepool/zk-protocol';
import type { LauncherId } from '@nodepool/zk-protocol';
import { launcherHosts, launcherUrls } from './find-launchers.js';

function launcher(hostname: string) {
  return newComponent({ kind: 'launcher', hostname, state: 'running', version: null });
}

function pool(hostname: string, launcherId: string) {
  return newPoolComponent({
    ...{ hostname, state: 'running', version: null, launcherId: launcherId as LauncherId, name: 'main' },
    ...{ providerName: 'rack', supportedLabels: [], priority: 100, paused: false },
  });
}

describe('launcherHosts', () => {
  it('names each host once, in full if a pool has the full name', () => {
    const id = 'nl01.example.com-PoolWorker.rack-main-0123';

    expect(launcherHosts([launcher('nl01'), pool('nl01', id), pool('nl01', id)])).toEqual(['nl01.example.com']);
  });

  it('finds launchers that have no pool', () => {
    expect(launcherHosts([launcher('nl02')])).toEqual(['nl02']);
  });

  it('takes the registered host if the id has none', () => {
    expect(launcherHosts([pool('nl03', 'strange')])).toEqual(['nl03']);
  });
});

describe('launcherUrls', () => {
  const webapp = { port: 8005, listenAddress: '0.0.0.0' };
  const telling = (host: string, webUrl: string) => ({ ...launcher(host), webUrl });

  it('takes registered URLs, and the configured port of launchers without one', () => {
    const components = [telling('nl01', 'http://nl01.example.com:9000'), pool('nl01', 'x'), launcher('nl02')];

    expect(launcherUrls(components, webapp, 'here')).toEqual(['http://nl01.example.com:9000', 'http://nl02:8005']);
  });

  it('keeps the names of launchers with HTTPS, which their certificates have', () => {
    const components = [telling('nl01', 'https://nl01.example.com:9000'), launcher('nl02')];
    const tls = { certFile: 'web.pem', keyFile: 'web.key' };

    expect(launcherUrls(components, { ...webapp, tls }, 'nl01')).toEqual([
      'https://nl01.example.com:9000',
      'https://nl02:8005',
    ]);
  });

  it('reaches launchers on loopback only on the same host', () => {
    const components = [telling('here', 'http://here.example.com:9000'), telling('nl01', 'http://127.0.0.1:9001')];

    expect(launcherUrls(components, webapp, 'here.example.com')).toEqual(['http://127.0.0.1:9000']);
  });

  it('finds several launchers of one host', () => {
    const components = [telling('here', 'http://127.0.0.1:9000'), telling('here', 'http://127.0.0.1:9001')];

    expect(launcherUrls(components, webapp, 'here')).toEqual(['http://127.0.0.1:9000', 'http://127.0.0.1:9001']);
  });
});
