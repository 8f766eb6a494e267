import { describe, expect, it } from 'vitest';
import { newComponent, newPoolComponent } from '@nodepool/zk-protocol';
import type { LauncherId } from '@nodepool/zk-protocol';
import { launcherHosts } from './find-launchers.js';

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
  it('names each host once, in full where a pool tells', () => {
    const id = 'nl01.example.com-PoolWorker.rack-main-0123';

    expect(launcherHosts([launcher('nl01'), pool('nl01', id), pool('nl01', id)])).toEqual(['nl01.example.com']);
  });

  it('finds launchers that have no pool', () => {
    expect(launcherHosts([launcher('nl02')])).toEqual(['nl02']);
  });

  it('takes the registered host where the id tells none', () => {
    expect(launcherHosts([pool('nl03', 'strange')])).toEqual(['nl03']);
  });
});
