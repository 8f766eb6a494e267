import { expect, it } from 'vitest';
import { readProviderConfig } from './config.js';
import { driver } from './driver.js';

/** Providers by name: `a on b` offers label a on backing label b. */
function problemsOf(providers: Record<string, string[]>): string[] {
  const problems: string[] = [];
  const configs = Object.entries(providers).map(([name, labels]) => {
    const entries = labels.map((text) => {
      const [label = '', backing = ''] = text.split(' on ');
      return { name: label, 'backing-label': backing };
    });
    const entry = { name, driver: 'metastatic', pools: [{ name: 'main', labels: entries }] };
    return readProviderConfig(entry, { labels: new Map(), diskimages: new Map(), problem: () => {} });
  });
  driver.checkAll?.(configs, (provider, path, message) => problems.push(`${provider} ${path.join('.')}: ${message}`));
  return problems;
}

it('accepts slots on slots', () => {
  const problems = problemsOf({
    one: ['small on medium', 'tiny on medium'],
    two: ['medium on large', 'other on small'],
  });

  expect(problems).toEqual([]);
});

it('refuses two providers that are each other’s backing provider, at the entry that closes the circle', () => {
  const problems = problemsOf({ one: ['x on large', 'a on b'], two: ['b on a'] });

  expect(problems).toEqual([
    'two pools.0.labels.0.backing-label: backing label "a" leads back to label "a": "a" (provider "one") on "b" ' +
      '(provider "two") on "a": each request would ask for backing nodes without end; name a label of a provider that ' +
      'makes machines',
  ]);
});

it('refuses a circle over many labels once, and one within a provider', () => {
  const problems = problemsOf({
    one: ['a on b', 'c on d', 'out on a'],
    two: ['b on c', 'd on a'],
    three: ['x on y', 'y on x'],
  });

  expect(problems.map((text) => text.slice(0, text.indexOf(' leads')))).toEqual([
    'two pools.0.labels.1.backing-label: backing label "a"',
    'three pools.0.labels.1.backing-label: backing label "x"',
  ]);
});

it('leaves a label backed by itself to the check of its own provider', () => {
  const problems = problemsOf({ one: ['a on a'] });

  expect(problems).toEqual([]);
});
