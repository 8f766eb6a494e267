import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { configOf, labelOf } from '../test/labels.js';

describe('the configuration of a provider', () => {
  it('has the defaults of the original, and those of this driver', () => {
    const { config, problems } = configOf({}, { labels: [{ name: 'a', type: 'pod', image: 'x' }] });

    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      ...{ launchRetries: 3, launchTimeoutMs: 300_000, scheduleTimeoutMs: 270_000, tokenExpiryS: 86_400 },
      ...{ ownNamespaces: true, context: undefined, files: ['/home/ci/.kube/config'] },
    });
    expect(labelOf({ image: 'x' })).toMatchObject({
      ...{ imagePull: 'IfNotPresent', imagePullSecrets: [], env: [], pythonPath: 'auto', shellType: null },
      ...{ hostKeyChecking: false, privileged: undefined, labels: {}, extraResources: {} },
    });
  });

  it('takes requests and limits of a label, else of its pool, else the requests as limits', () => {
    const pool = { 'default-label-cpu': 2, 'default-label-memory': 512, 'default-label-memory-limit': 1024 };

    expect(labelOf({ image: 'x', cpu: 1 }, pool)).toMatchObject({
      requests: { cpu: 1, memoryMib: 512, storageMb: undefined },
      limits: { cpu: 1, memoryMib: 1024, storageMb: undefined },
    });
    expect(labelOf({ spec: {} }, pool).requests).toEqual({
      cpu: undefined,
      memoryMib: undefined,
      storageMb: undefined,
    });
  });

  it('merges extra resources of pool and label', () => {
    const pool = { 'default-label-extra-resources': { a: 1, b: 1 } };

    expect(labelOf({ image: 'x', 'extra-resources': { b: 2 } }, pool).extraResources).toEqual({ a: 1, b: 2 });
  });

  it('limits each pool as its provider says, unless the pool says otherwise', () => {
    const entry = { 'max-servers': 5, 'max-cores': 10, 'max-ram': -1, 'max-resources': { gpu: 1, disk: 2 } };
    const ofPool = configOf(entry, { 'max-cores': 4, 'max-resources': { gpu: 3 } }).config.pools.get('main');

    expect(ofPool).toMatchObject({ maxServers: 5, maxResources: { gpu: 3, disk: 2, cores: 4 } });
    expect(configOf({}, {}).config.pools.get('main')).toMatchObject({ maxServers: Infinity, maxResources: {} });
    expect(configOf({ 'max-pods': 3 }, {}, 'openshiftpods').config.pools.get('main')?.maxServers).toBe(3);
    expect(configOf({ 'max-projects': 4 }, {}, 'openshiftpods').config.pools.get('main')?.maxServers).toBe(4);
  });

  it('makes labels of openshift projects with the role of the original, or pods', () => {
    const labels: JsonObject[] = [
      { name: 'a', type: 'project' },
      { name: 'b', type: 'pod', image: 'x', 'cluster-role': 'edit' },
    ];
    const { config, problems } = configOf({ context: 'c', 'max-projects': 4 }, { labels }, 'openshift');
    const pool = config.pools.get('main');

    expect(problems).toEqual([]);
    expect(config).toMatchObject({ ownNamespaces: true, projects: true });
    expect(pool?.maxServers).toBe(4);
    expect(pool?.labels.get('a')).toMatchObject({ type: 'project', clusterRole: 'admin' });
    expect(pool?.labels.get('b')).toMatchObject({ type: 'pod', clusterRole: 'edit' });
  });

  it('makes every label of openshiftpods a pod', () => {
    const { config } = configOf({ context: 'c' }, { labels: [{ name: 'a', image: 'x' }] }, 'openshiftpods');

    expect(config.ownNamespaces).toBe(false);
    expect(config.pools.get('main')?.labels.get('a')?.type).toBe('pod');
  });

  it('lends no nodes of openshiftpods that carry the token of the launcher, and warns', () => {
    const labels = [{ name: 'a', image: 'x' }];
    const own = configOf({ context: 'c' }, { labels }, 'openshiftpods');
    const account = configOf({ context: 'c' }, { labels, 'service-account': 'job' }, 'openshiftpods');

    expect(own.config.pools.get('main')?.notLent).toContain('set service-account of the pool');
    expect(own.problems).toHaveLength(1);
    expect(JSON.stringify(own.problems)).toMatch(/pool \\"main\\" carry the cluster token of the launcher/);
    expect([account.config.pools.get('main')?.notLent, account.problems]).toEqual([undefined, []]);
    expect(configOf({}, { labels: [{ name: 'a', type: 'pod', image: 'x' }] }).config.pools.get('main')?.notLent).toBe(
      undefined,
    );
  });

  it('turns numbers and flags of labels into texts', () => {
    expect(labelOf({ image: 'x', labels: { a: 1, b: true, c: 'd' } }).labels).toEqual({ a: '1', b: 'true', c: 'd' });
  });

  it('says what cannot work', () => {
    const labels: JsonObject[] = [
      { name: 'a', type: 'pod' },
      { name: 'b', type: 'pod', spec: {}, image: 'x', cpu: 1, annotations: {} },
      { name: 'c', type: 'pod', image: 'x', 'dynamic-labels': { k: '{request.colour}' } },
    ];

    expect(configOf({}, { name: 'Main', labels }).problems).toEqual([
      expect.stringContaining('warning pools.0.name: the cluster refuses the nodes of pool "Main"'),
      expect.stringContaining('warning pools.0.labels.0: label "a" has no image'),
      expect.stringContaining('warning pools.0.labels.1: label "b" has a spec, which replaces image, cpu'),
      expect.stringContaining('warning pools.0.labels.2.dynamic-labels.k: '),
    ]);
  });
});
