import { describe, expect, it } from 'vitest';
import type { LabelConfig } from '@nodepool/core';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readProviderConfig, settingsOf } from './config.js';

function read(entry: JsonObject) {
  const problems: string[] = [];
  const label = (name: string): [string, LabelConfig] => [name, { name, minReady: 0, maxReadyAgeMs: 0 }];
  const config = readProviderConfig(
    { name: 'meta', driver: 'metastatic', ...entry },
    {
      labels: new Map(['small', 'other', 'big'].map(label)),
      diskimages: new Map(),
      problem: (path, message, severity = 'error') => problems.push(`${severity} ${path.join('.')}: ${message}`),
    },
  );
  return { config, problems };
}

const pool = (labels: JsonObject[], more: JsonObject = {}): JsonObject => ({ name: 'main', labels, ...more });

describe('the configuration of a provider', () => {
  it('has the defaults of the reference', () => {
    const { config, problems } = read({ pools: [pool([{ name: 'small', 'backing-label': 'big' }])] });

    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      driverName: 'metastatic',
      bootTimeoutMs: 120_000,
      launchTimeoutMs: 3_600_000,
      launchRetries: 3,
      managesImages: false,
      maxConcurrency: -1,
    });
    expect(config.pools.get('main')?.maxServers).toBe(Infinity);
    expect(config.pools.get('main')?.labels.get('small')).toEqual({
      name: 'small',
      backingLabel: 'big',
      maxParallelJobs: 1,
      graceTimeMs: 60_000,
      minRetentionTimeMs: 0,
      maxAgeMs: undefined,
      hostKeyChecking: false,
      path: ['pools', 0, 'labels', 0],
    });
  });

  it('reads every key', () => {
    const label = {
      name: 'small',
      'backing-label': 'big',
      'max-parallel-jobs': 20,
      'grace-time': 1,
      'min-retention-time': 2,
      'max-age': 3,
    };
    const { config } = read({
      'boot-timeout': 5,
      'launch-timeout': 6,
      'launch-retries': 7,
      pools: [pool([label], { 'host-key-checking': true, 'max-servers': 9, 'node-attributes': { a: 1 } })],
    });

    expect(config).toMatchObject({ bootTimeoutMs: 5_000, launchTimeoutMs: 6_000, launchRetries: 7 });
    expect(config.pools.get('main')).toMatchObject({ maxServers: 9, nodeAttributes: { a: 1 } });
    expect(settingsOf(config, 'small')).toMatchObject({
      maxParallelJobs: 20,
      graceTimeMs: 1_000,
      minRetentionTimeMs: 2_000,
      maxAgeMs: 3_000,
      hostKeyChecking: true,
    });
  });

  it.each([
    [false, true, true],
    [true, false, false],
    [true, undefined, true],
    [undefined, undefined, false],
  ])('checks host keys by pool %s and label %s: %s', (ofPool, ofLabel, expected) => {
    const label: JsonObject = { name: 'small', 'backing-label': 'big' };
    if (ofLabel !== undefined) label['host-key-checking'] = ofLabel;
    const { config } = read({ pools: [pool([label], ofPool === undefined ? {} : { 'host-key-checking': ofPool })] });

    expect(config.pools.get('main')?.labels.get('small')?.hostKeyChecking).toBe(expected);
  });

  it('refuses a max-age below min-retention-time', () => {
    const label = { name: 'small', 'backing-label': 'big', 'max-age': 5, 'min-retention-time': 6 };

    expect(read({ pools: [pool([label])] }).problems).toEqual([
      'error pools.0.labels.0.max-age: max-age 5 of label "small" is less than its min-retention-time 6: ' +
        'raise max-age or lower min-retention-time',
    ]);
  });

  it('refuses labels that share a backing label and disagree about it', () => {
    const one = { name: 'small', 'backing-label': 'big', 'grace-time': 5 };
    const two = { name: 'other', 'backing-label': 'big', 'grace-time': 6, 'max-age': 7 };

    expect(read({ pools: [pool([one]), { ...pool([two]), name: 'second' }] }).problems).toEqual([
      'error pools.1.labels.0.grace-time: grace-time is 6 here but 5 in label "small" of pool "main", ' +
        'which uses the same backing nodes: set both to the same value',
      'error pools.1.labels.0.max-age: max-age is 7 here but none in label "small" of pool "main", ' +
        'which uses the same backing nodes: set both to the same value',
    ]);
  });

  it('refuses one label with two backing labels', () => {
    const pools = [
      pool([{ name: 'small', 'backing-label': 'big' }]),
      { ...pool([{ name: 'small', 'backing-label': 'other' }]), name: 'second' },
    ];

    expect(read({ pools }).problems).toEqual([expect.stringContaining('backing-label is other here but big in')]);
  });

  it('refuses a label that is its own backing label, and warns of one that no pool has', () => {
    const { problems } = read({
      pools: [
        pool([
          { name: 'small', 'backing-label': 'small' },
          { name: 'other', 'backing-label': 'huge' },
        ]),
      ],
    });

    expect(problems).toEqual([
      expect.stringContaining('error pools.0.labels.0.backing-label: label "small" cannot be its own'),
      expect.stringContaining('warning pools.0.labels.1.backing-label: backing label "huge" is not in'),
    ]);
  });
});
