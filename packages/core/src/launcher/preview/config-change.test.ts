import { describe, expect, it } from 'vitest';
import { newNode, newPoolComponent, newRequest } from '@nodepool/zk-protocol';
import type { LauncherId, NodeId, NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { readStandby } from '../../config/standby-settings.js';
import type { Config, StandbySettings } from '../../contract/config.js';
import type { ChangePreview } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { planConfigChange } from './config-change.js';
import { registryAfter } from './registry-after.js';
import type { Offer } from './servable.js';

const NOW_MS = 10_000_000;

interface Label {
  minReady?: number;
  maxReadyAgeMs?: number;
  standby?: StandbySettings;
}

function configOf(providers: ProviderConfig[], labels: Record<string, Label> = {}): Config {
  return {
    file: 'nodepool.yaml',
    zookeeper: { hosts: [], root: '', timeoutMs: 0, auth: undefined, tls: undefined },
    webapp: { port: 0, listenAddress: '' },
    elementsDir: undefined,
    imagesDir: undefined,
    buildLogDir: '',
    buildLogRetention: 0,
    labels: new Map(
      Object.entries(labels).map(([name, { minReady = 0, maxReadyAgeMs = 0, standby }]) => [
        name,
        { name, minReady, maxReadyAgeMs, standby },
      ]),
    ),
    diskimages: new Map(),
    providers: new Map(providers.map((provider) => [provider.name, provider])),
    maxHoldAgeMs: 0,
    tenantLimits: new Map(),
    apiTokens: [],
    tokenKeys: [],
    warnings: [],
  } as unknown as Config;
}

function cloud(pools: PoolConfig[], changes: Partial<ProviderConfig> = {}): ProviderConfig {
  return {
    name: 'cloud',
    driverName: 'fake',
    entry: {},
    maxConcurrency: -1,
    priority: undefined,
    managesImages: false,
    pools: new Map(pools.map((pool) => [pool.name, pool])),
    ...changes,
  };
}

let lastId = 0;
function node(changes: Partial<NodeRecord>): NodeRecord {
  const id = String(++lastId).padStart(10, '0') as NodeId;
  return { ...newNode({ state: 'ready', labels: ['small'], provider: 'cloud', pool: 'main' }, NOW_MS), id, ...changes };
}

function offerOf(config: Config): Offer {
  const pools = [...config.providers.values()].flatMap((provider) =>
    [...provider.pools.values()].map((pool) => ({ provider, pool, id: `${provider.name}-${pool.name}` as LauncherId })),
  );
  const registered = pools.map(({ provider, pool, id }) =>
    newPoolComponent({
      ...{ hostname: 'host', state: 'running', version: null, launcherId: id, name: pool.name, paused: false },
      ...{ providerName: provider.name, supportedLabels: [...pool.labels.keys()], priority: 100 },
    }),
  );
  const views = pools.map(({ provider, pool, id }) =>
    poolView({
      ...{ launcherId: id, provider: provider.name, pool, launches: true, registered },
      maxConcurrency: provider.maxConcurrency,
    }),
  );
  return { views, registered };
}

interface Live {
  nodes?: NodeRecord[];
  requests?: RequestRecord[];
  preview?: (config: ProviderConfig) => ChangePreview | undefined;
}

function plan(before: Config, after: Config, { nodes = [], requests = [], preview = () => undefined }: Live = {}) {
  const [offerBefore, offerAfter] = [offerOf(before), offerOf(after)];
  return planConfigChange({ before, after, nodes, requests, offerBefore, offerAfter, nowMs: NOW_MS, preview });
}

describe('the plan for a new configuration', () => {
  it('counts nodes of a pool that goes and of a label that a pool loses', () => {
    const before = configOf([cloud([poolConfig('main', ['small', 'big']), poolConfig('spare', ['small'])])]);
    const after = configOf([cloud([poolConfig('main', ['small'])])]);
    const nodes = [node({}), node({ labels: ['big'] }), node({ labels: ['big'] }), node({ pool: 'spare' })];

    const { kept } = plan(before, after, { nodes });

    expect(kept.map(({ name, count }) => [name, count])).toEqual([
      ['cloud/spare', 1],
      ['cloud/main (big)', 2],
    ]);
    expect(kept[1]?.text).toContain('loses their label');
  });

  it('keeps the pools and nodes of a provider whose driver is missing', () => {
    const far = newPoolComponent({
      ...{ hostname: 'h', state: 'running', version: null, launcherId: 'far' as LauncherId, name: 'main' },
      ...{ providerName: 'far', supportedLabels: ['pod'], priority: 100, paused: false },
    });
    const after = { ...configOf([]), unserved: new Map([['far', {}]]) } as unknown as Config;

    expect(registryAfter(undefined, after, [far])).toEqual([far]);
    expect(registryAfter(undefined, configOf([]), [far])).toEqual([]);
  });

  it('asks the driver what becomes of the nodes of a removed provider, and says that the rest drain', () => {
    const before = configOf([cloud([poolConfig('main', ['small'])])]);
    const nodes = [node({}), node({ state: 'in-use' })];
    const first = nodes[0]?.id as NodeId;
    const preview = ({ pools }: ProviderConfig) =>
      pools.size === 0 ? { register: [], delete: [{ node: first, why: 'it is free' }] } : undefined;

    const { delete: deleted, kept } = plan(before, configOf([]), { nodes, preview });

    expect(deleted).toEqual([{ node: first, why: 'it is free', provider: 'cloud' }]);
    expect(kept).toMatchObject([{ name: 'cloud', count: 1 }]);
    expect(kept[0]?.text).toContain('until they are no longer used');
  });

  it('knows that nothing is served any more once max-concurrency is 0', () => {
    const pools = [poolConfig('main', ['small'])];
    const request = {
      ...newRequest({ labels: ['small'], requestor: 'zuul', eventId: 'e' }, 0),
      id: '100-1' as RequestId,
    };

    const { servable, hopeless } = plan(configOf([cloud(pools)]), configOf([cloud(pools, { maxConcurrency: 0 })]), {
      requests: [request],
    });

    expect(servable).toEqual([]);
    expect(hopeless).toMatchObject([{ request: '100-1', why: ['cloud/main: max-concurrency 0, it launches nothing'] }]);
  });

  it('counts the free nodes that a raised min-ready lacks', () => {
    const providers = [cloud([poolConfig('main', ['small', 'same'])])];
    const before = configOf(providers, { small: { minReady: 1 }, same: { minReady: 3 }, elsewhere: {} });
    const labels = { small: { minReady: 4 }, same: { minReady: 3 }, elsewhere: { minReady: 2 } };

    const { freeNodes } = plan(before, configOf(providers, labels), {
      nodes: [node({}), node({ allocatedTo: '100-1' as RequestId }), node({ state: 'in-use' })],
    });

    expect(freeNodes).toEqual([{ label: 'small', count: 3 }]);
  });

  // NOW_MS is 02:46 on Thursday, January 1st
  it.each([
    ['{ days: thu, nodes: 6 }', { days: 'thu', nodes: 6 }, [{ label: 'small', count: 5 }]],
    ['{ from: 07:00, nodes: 6 }', { from: '07:00', nodes: 6 }, []],
    ["{ cron: '30 2 * * *', nodes: 60 }", { cron: '30 2 * * *', nodes: 60 }, [{ label: 'small', count: 8 }]],
  ])('counts the standby nodes that a schedule of %s asks for now, up to at-most', (_text, scheduled, found) => {
    const providers = [cloud([poolConfig('main', ['small'])])];
    const standby = readStandby({ schedule: [scheduled], 'at-most': 9, 'time-zone': 'UTC' });

    const change = plan(configOf(providers, { small: {} }), configOf(providers, { small: { minReady: 1, standby } }), {
      nodes: [node({})],
    });

    expect(change.freeNodes).toEqual(found);
  });

  it('names the nodes that a lowered max-ready-age deletes at once', () => {
    const providers = [cloud([poolConfig('main', ['small'])])];
    const before = configOf(providers, { small: { maxReadyAgeMs: 3_600_000 } });
    const after = configOf(providers, { small: { maxReadyAgeMs: 600_000 } });
    const old = node({ stateTimeMs: NOW_MS - 900_000 });
    const nodes = [old, node({ stateTimeMs: NOW_MS - 60_000 }), node({ state: 'in-use', stateTimeMs: 0 })];

    const { delete: deleted } = plan(before, after, { nodes });

    expect(deleted).toEqual([
      { node: old.id, provider: 'cloud', why: 'ready for 900 s, max-ready-age would be 600 s' },
    ]);
  });
});
