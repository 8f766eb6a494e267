import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MetricDefinition } from './definition.js';
import { CACHES, METRICS } from './table.js';

const page = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
/** The page without line breaks, and its list items, one per line. */
const documentation = page.replaceAll(/\s+/g, ' ');
const items = page
  .replaceAll(/\n {2}/g, ' ')
  .split('\n')
  .filter((line) => line.startsWith('- '));
const definitions = Object.entries(METRICS) as [string, MetricDefinition][];

describe('docs/metrics.md', () => {
  it.each(definitions)('describes %s', (_key, { help, statsd, prometheus }) => {
    const names = [...(statsd?.names ?? []), ...(prometheus ? [prometheus.name] : [])];

    expect(names.filter((name) => !documentation.includes(`\`${name}\``))).toEqual([]);
    expect(documentation).toContain(help);
  });

  it('describes nothing else', () => {
    const known = new Set(
      definitions.flatMap(([, { statsd, prometheus }]) => [...(statsd?.names ?? []), prometheus?.name]),
    );
    const named = items.flatMap((item) => /^- `((?:nodepool|process|nodejs|<prefix>)[._][^`]+)`/.exec(item)?.[1] ?? []);

    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

/** Metrics of Nodepool's launchers and builders that dashboards use, with their types. None may be removed. */
const NODEPOOL_METRICS = {
  'nodepool.nodes.<state>': ['gauge'],
  'nodepool.label.<label>.nodes.<state>': ['gauge'],
  'nodepool.provider.<provider>.nodes.<state>': ['gauge'],
  'nodepool.provider.<provider>.pool.<pool>.addressable_requests': ['gauge'],
  'nodepool.provider.<provider>.max_servers': ['gauge'],
  'nodepool.tenant_limits.<tenant>.<resource>': ['gauge'],
  'nodepool.launch.<result>': ['timer', 'counter'],
  'nodepool.launch.provider.<provider>.<result>': ['timer', 'counter'],
  'nodepool.launch.provider.<provider>.<az>.<result>': ['timer', 'counter'],
  'nodepool.launch.requestor.<requestor>.<result>': ['timer', 'counter'],
  'nodepool.launch.image.<image>.<result>': ['timer', 'counter'],
  'nodepool.provider.<provider>.leaked.<type>': ['counter'],
  'nodepool.launcher.<host>.zk.client.connection_queue': ['gauge'],
  'nodepool.launcher.<host>.zk.node_cache.event_queue': ['gauge'],
  'nodepool.launcher.<host>.zk.node_cache.playback_queue': ['gauge'],
  'nodepool.launcher.<host>.zk.request_cache.event_queue': ['gauge'],
  'nodepool.launcher.<host>.zk.request_cache.playback_queue': ['gauge'],
  'nodepool.launcher.<host>.zk.image_cache.event_queue': ['gauge'],
  'nodepool.launcher.<host>.zk.image_cache.playback_queue': ['gauge'],
  'nodepool.dib_image_build.<image>.<format>.size': ['gauge'],
  'nodepool.dib_image_build.<image>.status.rc': ['gauge'],
  'nodepool.dib_image_build.<image>.status.duration': ['timer'],
  'nodepool.dib_image_build.<image>.status.last_build': ['gauge'],
  'nodepool.image_update.<image>.<provider>': ['timer', 'counter'],
  'nodepool.image_build_requests': ['gauge'],
  'nodepool.image.<image>.image_build_requests': ['gauge'],
  'nodepool.builder.<host>.image.<image>.build.state': ['gauge'],
  'nodepool.builder.<host>.image.<image>.provider.<provider>.upload.state': ['gauge'],
  'nodepool.builder.<host>.current_builds': ['gauge'],
  'nodepool.builder.<host>.current_uploads': ['gauge'],
  'nodepool.builder.<host>.build_workers': ['gauge'],
  'nodepool.builder.<host>.upload_workers': ['gauge'],
  'nodepool.request_wait.<cause>.<label>': ['timer'],
  'nodepool.provider.<provider>.too_long.<state>': ['counter'],
};

it('has every metric that Nodepool sends, and no other statsd name except cloud calls', () => {
  const sent = Object.fromEntries(
    definitions
      .flatMap(([, { statsd }]) => (statsd?.names ?? []).map((name) => [name, statsd?.types] as const))
      .filter(([name]) => !name.startsWith('nodepool.task.') && !name.startsWith('<prefix>.'))
      .flatMap(([name, types]) => {
        const names = name.includes('<cache>') ? CACHES.map((cache) => name.replace('<cache>', cache)) : [name];
        return names.map((each) => [each, types] as const);
      }),
  );

  expect(sent).toEqual(NODEPOOL_METRICS);
  for (const cache of CACHES) expect(documentation).toMatch(new RegExp(`\`<cache>\` is .*\`${cache}\``));
});

it('names every metric once', () => {
  const names = definitions.flatMap(([, { statsd, prometheus }]) => [
    ...(statsd?.names ?? []).map((name) => `statsd ${name}`),
    ...(prometheus ? [prometheus.name] : []),
  ]);

  expect(new Set(names).size).toBe(names.length);
});

it('follows the naming rules of Prometheus', () => {
  const wrong = definitions
    .map(([, { prometheus }]) => prometheus)
    .filter((form) => form !== undefined)
    .filter(({ name, type }) => (type === 'counter') !== name.endsWith('_total') || !/^[a-z][a-z0-9_]*$/.test(name));

  expect(wrong).toEqual([]);
});
