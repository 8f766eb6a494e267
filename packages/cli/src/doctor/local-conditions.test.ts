import { newPoolComponent, type LauncherId } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { expect, it } from 'vitest';
import { localConditions, type LocalFacts } from './local-conditions.js';

const pool = newPoolComponent({
  ...{ hostname: 'nl01', state: 'running', version: '1.0', launcherId: 'nl01' as LauncherId, name: 'main' },
  ...{ providerName: 'rack', supportedLabels: [], priority: 100, paused: false },
});
const config = { providers: new Map([['rack', { name: 'rack' }]]), diskimages: new Map() } as unknown as Config;
const HEALTHY: LocalFacts = {
  ...{ config, file: 'a.yaml', configProblems: [], unserved: new Map(), pools: [pool], hasLauncher: true },
  ...{ hasBuilder: false, answerMs: 3 },
  secretFiles: [{ file: '/etc/nodepool/secure.yaml', mode: 0o100600 }],
};

/** Types and names of what is wrong. */
const found = (facts: Partial<LocalFacts>) =>
  localConditions({ ...HEALTHY, ...facts }).map(({ type, name, message }) => [type, name, message]);

it('finds nothing wrong where nothing is', () => {
  expect(found({})).toEqual([]);
  expect(found({ config: undefined, secretFiles: [], answerMs: 250 })).toEqual([]);
});

it('reports that no launcher is registered, and then no conditions of providers', () => {
  expect(found({ pools: [], hasLauncher: false })).toEqual([
    ['NoLauncher', 'any', 'no launcher is registered: requests are not served'],
  ]);
});

it('reports at once that no builder is registered for configured images', () => {
  const image = { abstract: false, pause: false };
  const of = (changes: object) =>
    ({ ...config, diskimages: new Map([['debian', { ...image, ...changes }]]) }) as unknown as Config;

  expect(found({ config: of({}) })).toEqual([
    ['NoBuilder', 'any', expect.stringContaining('no builder is registered')],
  ]);
  expect(found({ config: of({}), hasBuilder: true })).toEqual([]);
  expect(found({ config: of({ pause: true }) })).toEqual([]);
});

it('names providers without a registered pool', () => {
  expect(found({ pools: [] })).toEqual([
    ['NotRegistered', 'rack', expect.stringContaining('no launcher has registered')],
  ]);
});

it('names providers without a driver, and not as unregistered', () => {
  const problem = { severity: 'warning' as const, position: undefined, path: '', message: '' };
  const rack = {
    name: 'rack',
    driverName: 'gone',
    reason: 'no',
    problem,
    pools: new Map(),
    diskimages: new Set<string>(),
  };

  expect(found({ pools: [], unserved: new Map([['rack', rack]]) })).toEqual([
    ['Unserved', 'rack', expect.stringContaining('no launcher serves it')],
  ]);
});

it('names problems of the configuration by their place, else by their path', () => {
  const problem = { severity: 'error' as const, path: 'labels[0]', message: 'has no name' };
  const position = { file: 'a.yaml', line: 2, column: 5 };

  expect(
    found({
      configProblems: [
        { ...problem, position },
        { ...problem, position: undefined },
      ],
    }).map(([type, name]) => [type, name]),
  ).toEqual([
    ['ConfigurationProblem', 'a.yaml:2:5'],
    ['ConfigurationProblem', 'labels[0]'],
  ]);
});

it('warns of slow answers of ZooKeeper, and of secrets that other users can read', () => {
  expect(found({ answerMs: 1_234.5 })).toEqual([['SlowAnswers', 'ensemble', 'ZooKeeper takes 1235 ms to answer']]);
  expect(found({ secretFiles: [{ file: '/s', mode: 0o100640 }] })).toEqual([
    ['SecretsReadable', '/s', expect.stringContaining('(mode 640)')],
  ]);
});
