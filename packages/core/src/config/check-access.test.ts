import { expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { loadWritten } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import type { Driver } from '../contract/driver.js';
import { silentLogger } from '../contract/logger.js';

const YAML = `labels: [{name: small}]
providers:
- {name: one, driver: plain, pools: [{name: main, labels: [{name: small}]}]}
- {name: two, driver: plain, pools: [{name: main, labels: [{name: small}]}]}
`;

async function ask(missingRights: Driver['missingRights']) {
  const unknown: string[] = [];
  const notKnown = (provider: string, why: string) => unknown.push(`${provider}: ${why}`);
  const { warnings } = await loadWritten({
    ...{ yaml: YAML, mode: 'validate', access: { clock: systemClock, logger: silentLogger, notKnown } },
    drivers: registryOf(plainDriver('plain', missingRights ? { missingRights } : {})),
  });
  return {
    warnings: warnings.map(({ position, message }) => `${position?.line}:${position?.column} ${message}`),
    unknown,
  };
}

it('rights that are missing are warnings at the provider, each with what it costs', async () => {
  const missing = [
    { right: 'list quotas', cost: 'quotas are not known' },
    { right: 'watch pods', cost: 'changes are seen later' },
  ];

  const found = await ask(({ name }) => Promise.resolve(name === 'two' ? missing : []));

  expect(found).toEqual({
    warnings: [
      '4:10 the account of provider "two" may not list quotas: quotas are not known',
      '4:10 the account of provider "two" may not watch pods: changes are seen later',
    ],
    unknown: [],
  });
});

it('a cloud that does not notify, or refuses to, is no problem of the file', async () => {
  const found = await ask(({ name }) =>
    name === 'two' ? Promise.reject(new Error('403 Forbidden')) : Promise.resolve(undefined),
  );

  expect(found).toEqual({
    warnings: [],
    unknown: ['one: the cloud does not tell all rights of an account', 'two: 403 Forbidden'],
  });
});

it('a driver that does not ask is not waited for', async () => {
  expect(await ask(undefined)).toEqual({ warnings: [], unknown: [] });
});
