import { mapOf } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { linesAbout } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import { PLAIN_SCHEMA } from '../../test/support/plain-driver.js';
import { composeProviderSchema } from './compose-schema.js';
import { readCommonPool } from './common-values.js';
import { namedEntries } from './raw-values.js';

/** A cloud driver, whose pools have limits. */
const cloud = plainDriver('cloud', {
  capabilities: { launches: true, pausesAtQuota: true, managesImages: true },
  schema: {
    ...PLAIN_SCHEMA,
    properties: {
      ...mapOf(PLAIN_SCHEMA['properties']),
      'user-data': { type: 'string', 'x-secret': true },
      token: { type: 'string', 'x-secret': true },
      pools: {
        type: 'array',
        items: { ...mapOf(mapOf(mapOf(PLAIN_SCHEMA['properties'])['pools'])['items']), additionalProperties: true },
      },
    },
  },
  getProviderConfig(entry, context) {
    const config = plainDriver('cloud').getProviderConfig(entry, context);
    const pools = namedEntries(entry['pools']).map(({ name, entry: pool }) => {
      const read = config.pools.get(name);
      if (read === undefined) throw new Error(`pool ${name} was not read`);
      return [name, { ...read, ...readCommonPool(pool, { priority: undefined }) }] as const;
    });
    return { ...config, pools: new Map(pools) };
  },
});

const warningsOf = (yaml: string, env = {}) =>
  linesAbout({ yaml, env, mode: 'validate', drivers: registryOf(cloud, plainDriver('plain')) });

describe('the driver of these tests', () => {
  it('has a valid schema', () => {
    expect(composeProviderSchema(cloud.schema)).toHaveProperty('properties.token');
  });
});

describe('standby nodes', () => {
  it('of a label that exceed all its pools', async () => {
    const yaml = `labels: [{name: a, min-ready: 4}, {name: b, min-ready: 3}]
providers:
- {name: p, driver: cloud, pools: [{name: m, max-servers: 1, labels: [{name: a}, {name: b}]}]}
- {name: q, driver: cloud, pools: [{name: m, max-servers: 2, labels: [{name: a}, {name: b}]}]}
`;

    expect(await warningsOf(yaml)).toEqual([
      'nodepool.yaml:1:31: labels[0].min-ready: warning: 4 nodes, which min-ready of label "a" says, are more than its pools may have together (max-servers 3)',
    ]);
  });

  it('of the schedule of a label that exceed all its pools, but not those of several labels together', async () => {
    const yaml = `labels:
- {name: a, standby: {schedule: [{days: mon, nodes: 4}]}}
- {name: b, standby: {schedule: [{days: tue, nodes: 3}]}}
- {name: c, standby: {schedule: [{days: wed, nodes: 3}]}}
- {name: gone, min-ready: -1, standby: {schedule: [{days: wed, nodes: 9}]}}
providers:
- {name: p, driver: cloud, pools: [{name: m, max-servers: 3, labels: [{name: a}, {name: b}, {name: c}, {name: gone}]}]}
`;

    expect(await warningsOf(yaml)).toEqual([
      'nodepool.yaml:2:22: labels[0].standby: warning: 4 nodes, which the schedule of label "a" says, are more than its pools may have together (max-servers 3)',
      expect.stringContaining('min-ready -1 switches the label off'),
    ]);
  });

  it('of labels that only one pool offers, all together', async () => {
    const yaml = `labels: [{name: a, min-ready: 2}, {name: b, min-ready: 2}, {name: c, min-ready: 2}]
providers:
- {name: p, driver: cloud, pools: [{name: m, max-servers: 3, labels: [{name: a}, {name: b}, {name: c}]}]}
- {name: q, driver: cloud, pools: [{name: m, labels: [{name: c}]}]}
`;

    expect(await warningsOf(yaml)).toEqual([
      'nodepool.yaml:3:59: providers[0].pools[0].max-servers: warning: the standby nodes of "a", "b", which only this pool offers, are 4 together: more than its max-servers 3',
    ]);
  });
});

describe('images', () => {
  it('that no provider lists, unless they are parents, abstract, or have formats of their own', async () => {
    const yaml = `diskimages:
- {name: base, abstract: true}
- {name: parent}
- {name: child, parent: parent}
- {name: own, formats: [raw]}
- {name: left}
providers: [{name: p, driver: cloud, diskimages: [{name: child}]}]
`;

    expect(await warningsOf(yaml)).toEqual([
      'nodepool.yaml:6:10: diskimages[4].name: warning: no provider lists diskimage "left", so that it is not built: add it to a provider, or give it formats',
    ]);
  });

  it('of a file without providers are for other files', async () => {
    expect(await warningsOf('diskimages: [{name: i}]')).toEqual([]);
  });
});

describe('pools', () => {
  const pools = (first: string, second: string, driver = 'cloud') =>
    `labels: [{name: a}, {name: b}]
providers:
- name: p
  driver: ${driver}
  pools:
  - {name: first, ${first}labels: [{name: a}, {name: b}]}
  - {name: second, ${second}labels: [{name: a}]}
`;

  it('that are never used because another one takes all requests', async () => {
    expect(await warningsOf(pools('', ''))).toEqual([
      'nodepool.yaml:7:12: providers[0].pools[1].name: warning: pool "second" offers what pool "first" offers too, which goes first and has no limit: it is never used. Give "first" a max-servers, or remove one of them',
    ]);
    expect(await warningsOf(pools('priority: 1, ', 'max-servers: 5, '))).toHaveLength(1);
  });

  it.each([
    ['the first has a limit', pools('max-servers: 5, ', '')],
    ['the second goes first', pools('', 'priority: 1, ')],
    ['they differ in more than limits', pools('networks: [x], ', 'networks: [y], ')],
    ['the driver launches nothing', pools('', '', 'plain')],
    ['the second is switched off', pools('', 'max-servers: 0, ')],
  ])('are fine when %s', async (_name, yaml) => {
    expect(await warningsOf(yaml)).toEqual([]);
  });
});

describe('secrets', () => {
  it('in the main file, which is widely readable', async () => {
    const yaml = `zookeeper-digest: {user: u, password: hunter2}
diskimages: [{name: i, formats: [raw], env-vars: {DIB_CHECKSUM: "1", ROOT_PASSWORD: hunter2, PASSENGERS: "4"}}]
providers: [{name: p, driver: cloud, token: hunter2, user-data: "#!/bin/sh", pools: []}]
`;

    const warnings = await warningsOf(yaml);

    expect(warnings.map((line) => line.split(': warning: '))).toEqual([
      [
        'nodepool.yaml:1:39: zookeeper-digest.password',
        'this secret is in the main file: put it into the secure file (-s)',
      ],
      [
        'nodepool.yaml:2:85: diskimages[0].env-vars.ROOT_PASSWORD',
        'this secret is in the main file: put it into the secure file (-s)',
      ],
      [
        'nodepool.yaml:3:45: providers[0].token',
        'this secret is in the main file: write %(NODEPOOL_...) and set that environment variable',
      ],
    ]);
    expect(warnings.join()).not.toContain('hunter2');
  });

  it('from the environment are fine', async () => {
    const yaml = 'zookeeper-digest: {user: u, password: "%(NODEPOOL_PASSWORD)"}\n';

    expect(await warningsOf(yaml, { NODEPOOL_PASSWORD: 'hunter2' })).toEqual([]);
  });
});

it('reports no mistakes while there are errors, which may be the cause', async () => {
  const yaml =
    'labels: [{name: a, min-ready: 9}]\nproviders: [{name: p, driver: cloud, pools: [{name: m, max-servers: 1, labels: [{name: a}]}]}]\nmax-hold-age: x';

  expect((await warningsOf(yaml)).filter((line) => line.includes('warning'))).toEqual([]);
});
