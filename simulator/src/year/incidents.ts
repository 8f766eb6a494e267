import type { Region } from './region.js';

/** Kind of an incident. */
export interface Incident {
  readonly name: string;
  /** Frequency per year, over all providers. */
  readonly perYear: number;
  /** Minimum and maximum duration, in minutes. */
  readonly minutes: readonly [number, number];
  begin(region: Region): void;
  end(region: Region): void;
}

function failure(name: string, rate: number): Pick<Incident, 'begin' | 'end'> {
  return {
    begin: ({ fake }) => fake.set(`failures.${name}`, rate),
    end: ({ fake }) => fake.set(`failures.${name}`, 0),
  };
}

/** Foreign instances, by region. */
const foreign = new WeakMap<Region, string[]>();

/**
 * Incidents of three clouds in a year, with frequency and duration. Based on public status pages and on change logs of large
 * installations.
 */
export const INCIDENTS: readonly Incident[] = [
  { name: 'dead region', perYear: 6, minutes: [15, 45], ...failure('never-active', 1) },
  {
    ...{ name: 'slow region', perYear: 8, minutes: [15, 45] },
    begin: (region) => region.slowDown(10),
    end: (region) => region.slowDown(1),
  },
  {
    ...{ name: 'stock-out in a zone', perYear: 6, minutes: [15, 40] },
    begin: (region) => (region.emptyZone = 'zone-1'),
    end: (region) => (region.emptyZone = undefined),
  },
  { name: 'API answers 500', perYear: 8, minutes: [5, 40], ...failure('api-down', 1) },
  {
    ...{ name: 'quota used by others', perYear: 4, minutes: [15, 40] },
    begin: (region) => {
      const { instances } = region.fake.settings.quota;
      foreign.set(
        region,
        Array.from({ length: Math.floor(instances * 0.9) }, () => region.fake.leak({ name: 'foreign' }).id),
      );
    },
    end: (region) => {
      for (const id of foreign.get(region) ?? []) region.fake.kill(id);
    },
  },
  { name: 'image store full', perYear: 3, minutes: [15, 40], ...failure('error-state', 1) },
  { name: '5 % flaky boots', perYear: 2, minutes: [30, 45], ...failure('error-state', 0.05) },
];
