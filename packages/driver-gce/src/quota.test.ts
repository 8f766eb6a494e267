import { expect, it } from 'vitest';
import { largest, Quotas } from './quota.js';

const quota = (metric: string, limit: number, usage = 0) => ({ metric, limit, usage });
const size = { cores: 8, ramMib: 32_768 };

function quotasOf(...known: ReturnType<typeof quota>[]): Quotas {
  const quotas = new Quotas();
  quotas.learn(known);
  return quotas;
}

it.each([
  ['e2-standard-8', false, 'CPUS'],
  ['n1-standard-8', false, 'CPUS'],
  ['n2-standard-8', false, 'N2_CPUS'],
  ['n2-standard-8', true, 'PREEMPTIBLE_CPUS'],
  ['c4-standard-8', false, undefined],
  ['custom-8-32768', false, 'CPUS'],
  ['e2-custom-8-32768', false, 'CPUS'],
  ['n2-custom-8-32768-ext', false, 'N2_CPUS'],
])('counts %s (spot: %s) against %s', (machineType, spot, metric) => {
  const quotas = quotasOf(quota('CPUS', 100), quota('N2_CPUS', 50), quota('PREEMPTIBLE_CPUS', 20), quota('E2_CPUS', 5));

  const resources = quotas.resourcesOf({ machineType, size, spot, externalIp: true });

  expect(resources).toEqual({ instances: 1, cores: 8, ram: 32_768, ...(metric !== undefined && { [metric]: 8 }) });
});

it('counts Spot VMs like other VMs if they have no quota of their own', () => {
  const quotas = quotasOf(quota('N2_CPUS', 50), quota('PREEMPTIBLE_CPUS', 0));

  const resources = quotas.resourcesOf({ machineType: 'n2-standard-8', size, spot: true, externalIp: false });

  expect(resources).toMatchObject({ N2_CPUS: 8 });
});

it('counts addresses and disks where there are quotas for them', () => {
  const quotas = quotasOf(quota('IN_USE_ADDRESSES', 8), quota('SSD_TOTAL_GB', 500));

  expect(quotas.resourcesOf({ machineType: 'e2-small', size, spot: false, externalIp: true })).toMatchObject({
    IN_USE_ADDRESSES: 1,
  });
  expect(quotas.resourcesOfDisk('pd-balanced', 50)).toEqual({ SSD_TOTAL_GB: 50 });
  expect(quotas.resourcesOfDisk('pd-standard', 50)).toEqual({});
  expect(quotas.resourcesOfDisk('hyperdisk-balanced', 50)).toEqual({});
});

it('subtracts only the use by other programs', () => {
  const quotas = quotasOf(quota('INSTANCES', 100, 30), quota('CPUS', 200, 300), quota('CPUS_ALL_REGIONS', 400, 40));

  const limits = quotas.limits({ instances: 25, CPUS: 50, cores: 60 });

  expect(limits).toEqual({ instances: 95, CPUS: 0, cores: 400 });
});

it('compares amounts resource by resource', () => {
  expect(largest({ a: 1, b: 5 }, { b: 2, c: 3 })).toEqual({ a: 1, b: 5, c: 3 });
});
