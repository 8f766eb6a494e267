import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { ConfigProblem } from '@nodepool/core/config';
import { ServiceConditions, type ServiceConditionsOptions } from './service-conditions.js';

const FILE = '/etc/nodepool/nodepool.yaml';

interface Situation {
  readonly file?: string;
  readonly warnings?: readonly ConfigProblem[];
  readonly state?: ServiceConditionsOptions['zk']['state'];
  readonly sessionId?: bigint;
  readonly usesEmbedded?: boolean;
  readonly logFailures?: ServiceConditionsOptions['logFailures'];
}

/** What a service finds in a situation; nothing else is wrong. */
function findIn(situation: Situation) {
  const { file = FILE, warnings = [], state = 'CONNECTED', sessionId = 1n, usesEmbedded = false, ...more } = situation;
  const config = { file, warnings } as unknown as Config;
  const status = { loadedMs: 0, error: undefined, publicError: undefined, restartNeeded: [] };
  const conditions = new ServiceConditions({
    source: { find: () => [], publish: () => undefined, ofOthers: [], onConcern: () => () => undefined },
    reloader: { config, status },
    zk: { state, sessionId },
    ...{ clock: systemClock, hostname: 'nl01', service: 'launcher nl01', usesEmbedded, ...more },
  });
  const { current } = conditions;
  conditions.stop();
  return current;
}

function warning(line: number, path: string): ConfigProblem {
  return { severity: 'warning', position: { file: FILE, line, column: 9 }, path, message: 'a value: secret' };
}

it('has no condition while nothing is wrong', () => {
  expect(findIn({})).toEqual([]);
});

it.each([
  ['ENOSPC', 'NoSpace', 'free space on the disk of /var/log/nodepool/launcher.log'],
  ['EROFS', 'NotWritable', 'correct the permissions of /var/log/nodepool/launcher.log'],
])('tells of a log that cannot be written: %s', (code, reason, nextStep) => {
  const error = Object.assign(new Error(`${code}: write`), { code });
  const [found, ...others] = findIn({ logFailures: () => [{ file: '/var/log/nodepool/launcher.log', error }] });

  expect(others).toEqual([]);
  expect(found).toMatchObject({ kind: 'launcher', name: 'nl01', type: 'LogNotWritten', reason, nextStep });
});

it('tells of the warnings of the configuration in force, by number and first place, without values', () => {
  const [found, ...others] = findIn({ warnings: [warning(27, 'providers[0].pools[0].max-server'), warning(30, 'x')] });

  expect(others).toEqual([]);
  expect(found).toMatchObject({
    ...{ kind: 'configuration', name: FILE, type: 'ConfigurationProblem', severity: 'warning', reason: 'Warnings' },
    message: `the configuration in force has 2 warnings, the first: ${FILE}:27:9: providers[0].pools[0].max-server`,
    nextStep: `nodepool -c ${FILE} config-validate, on nl01`,
  });
});

// Ends: ConfigurationNotLoaded Replaced
it('tells that a container does not see the file that replaced the one it has by a bind mount, until it is restarted', () => {
  const directory = mkdtempSync(join(tmpdir(), 'np-replaced-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const named = join(directory, 'nodepool.yaml');
  writeFileSync(named, '{}');
  const descriptor = openSync(named, 'r');
  onTestFinished(() => closeSync(descriptor));
  expect(findIn({ file: named })).toEqual([]);

  rmSync(named); // the file of such a mount has no name, as this one
  const file = `/proc/self/fd/${descriptor}`;

  expect(findIn({ file })).toMatchObject([
    {
      type: 'ConfigurationNotLoaded',
      reason: 'Replaced',
      name: file,
      nextStep: expect.stringMatching(/^mount the directory .*, or restart the container$/) as string,
    },
  ]);
  writeFileSync(named, '{}');
  const restarted = openSync(named, 'r'); // the mount of a new container has the present file
  onTestFinished(() => closeSync(restarted));
  expect(findIn({ file: `/proc/self/fd/${restarted}` })).toEqual([]);
});

it.each([
  [true, 'look at the launcher and the disk of its state directory'],
  [false, 'look at the ZooKeeper servers and the network'],
])('says where to look without a connection, embedded server: %s', (usesEmbedded, nextStep) => {
  const [found] = findIn({ state: 'SUSPENDED', usesEmbedded });

  expect(found).toMatchObject({ type: 'NotConnected', reason: 'Suspended' });
  expect(found?.nextStep).toContain(nextStep);
});

it.each([
  ['before the first session', 'SUSPENDED', 0n, []],
  ['while the connection is away', 'SUSPENDED', 1n, ['Suspended']],
  ['when the session is over', 'LOST', 0n, ['Lost']],
] as const)('tells of the missing connection %s: %s, session %s', (_when, state, sessionId, reasons) => {
  expect(findIn({ state, sessionId }).map(({ reason }) => reason)).toEqual(reasons);
});
