import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MetricDefinition } from './definition.js';
import { METRICS } from './table.js';

const documentation = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8');
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
    const named = [...documentation.matchAll(/^\|.*?`((?:nodepool|process|nodejs)[._][^`]+)`/gm)].map(
      ([, name]) => name,
    );

    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
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
