import { beforeEach, describe, expect, it } from 'vitest';
import { silentLogger, type Config, type Provider, type ProviderConfig, type ProviderContext } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import { ImageProviders } from './image-providers.js';

const SIGNAL = new AbortController().signal;

let calls: string[];
let startImages: (name: string) => Promise<void>;
let providers: ImageProviders;

const provider = (config: ProviderConfig, { hostname }: ProviderContext): Provider =>
  ({
    config,
    startImages: () => (calls.push(`start ${config.name}`), startImages(config.name)),
    stop: () => void calls.push(`stop ${config.name}`),
    join: () => (calls.push(`join ${config.name}`), Promise.resolve()),
    hostname,
  }) as unknown as Provider;
const config = (...entries: readonly (readonly [name: string, changes?: object])[]): Config =>
  ({
    providers: new Map(
      entries.map(([name, changes]) => [
        name,
        { name, driverName: 'fake', pools: new Map(), images: { format: 'raw', diskimages: new Map() }, ...changes },
      ]),
    ),
  }) as unknown as Config;

beforeEach(() => {
  calls = [];
  startImages = () => Promise.resolve();
  const registry = {
    get: () => Promise.resolve({ getProvider: provider }),
    reset: () => Promise.resolve(),
    loaded: () => [],
  } as unknown as DriverRegistry;
  providers = new ImageProviders(registry, () => ({ hostname: 'nb01' }) as ProviderContext, silentLogger);
});

describe('a provider', () => {
  it('is started with its first use, once', async () => {
    await providers.reconfigure(config(['sky']));
    expect(calls).toEqual([]);
    const used = await Promise.all([providers.use('sky', SIGNAL), providers.use('sky', SIGNAL)]);

    expect(calls).toEqual(['start sky']);
    expect(used[0]).toBe(used[1]);
  });

  it('is started again after a start that failed', async () => {
    await providers.reconfigure(config(['sky']));
    startImages = () => Promise.reject(new Error('no answer'));
    await expect(providers.use('sky', SIGNAL)).rejects.toThrow('no answer');
    startImages = () => Promise.resolve();

    expect(await providers.use('sky', SIGNAL)).toBeDefined();
  });

  it('is unknown if it is not configured or manages no images', async () => {
    await providers.reconfigure(config(['rack', { images: undefined }]));

    expect([await providers.use('rack', SIGNAL), await providers.use('sky', SIGNAL)]).toEqual([undefined, undefined]);
    expect(await providers.makeForNodes('sky', { capacityChanged() {} })).toBeUndefined();
  });

  it('for nodes is another object with its own services', async () => {
    await providers.reconfigure(config(['sky']));

    expect(await providers.makeForNodes('sky', { capacityChanged() {} })).not.toBe(await providers.use('sky', SIGNAL));
  });
});

describe('a changed configuration', () => {
  it('replaces changed providers and ends removed ones; other providers continue', async () => {
    await providers.reconfigure(config(['same'], ['changed'], ['removed']));
    const before = await Promise.all(['same', 'changed'].map((name) => providers.use(name, SIGNAL)));
    calls = [];
    await providers.reconfigure(config(['same'], ['changed', { entry: { region: 'b' } }]));
    const after = await Promise.all(['same', 'changed'].map((name) => providers.use(name, SIGNAL)));

    expect(after.map((each, index) => each === before[index])).toEqual([true, false]);
    expect(calls.slice(0, 4).sort()).toEqual(['join changed', 'join removed', 'stop changed', 'stop removed']);
    expect(await providers.use('removed', SIGNAL)).toBeUndefined();
  });
});

it('ends all providers when it stops, and may be stopped again', async () => {
  await providers.reconfigure(config(['sky'], ['sea']));
  await providers.stop();
  await providers.stop();

  expect(calls.sort()).toEqual(['join sea', 'join sky', 'stop sea', 'stop sky']);
});
