import { expect, it } from 'vitest';
import { findOverrun, findShortage, storedPart, subtractFromLimit, sumResources, unstoredPart } from './resources.js';

it('adds the needs of labels over the names of all', () => {
  expect(
    sumResources([
      { instances: 1, cores: 2 },
      { instances: 1, ram: 512 },
    ]),
  ).toEqual({
    instances: 2,
    cores: 2,
    ram: 512,
  });
  expect(sumResources([])).toEqual({});
});

it('limits only the names that the limit has', () => {
  const rest = subtractFromLimit({ cores: 8, ram: Infinity }, { cores: 10, instances: 3 });

  expect(rest).toEqual({ cores: -2, ram: Infinity });
});

it('finds the first resource that does not fit, and takes one without a limit as unlimited', () => {
  expect(findShortage({ instances: 1, cores: 4 }, { cores: 3 })).toEqual({
    resource: 'cores',
    needed: 4,
    available: 3,
  });
  expect(findShortage({ instances: 1, cores: 3 }, { cores: 3 })).toBeUndefined();
});

it('compares only needed resources, also those already beyond their limit', () => {
  const rest = { gpus: -1, cores: 0 };

  expect(findShortage({ gpus: 0 }, rest)).toBeUndefined();
  expect(findOverrun(rest)).toEqual({ resource: 'gpus', needed: 0, available: -1 });
  expect(findOverrun({ cores: 0 })).toBeUndefined();
});

it('keeps ports out of records, without a copy if there are none', () => {
  const plain = { instances: 1, cores: 2 };

  expect(storedPart({ ...plain, ports: 3 })).toEqual(plain);
  expect(unstoredPart({ ...plain, ports: 3 })).toEqual({ ports: 3 });
  expect(storedPart(plain)).toBe(plain);
});
