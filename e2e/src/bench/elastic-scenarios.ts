import type { Scenario } from './scenarios.js';

const SLOW = { 'create-time': 2, 'delete-time': 2 };
const QUOTA = { instances: 20 };

/** Loads on a cloud in which every request gets an instance of its own; the floor has as many static slots. */
export const ELASTIC_SCENARIOS: readonly Scenario[] = [
  {
    name: 'elastic, 1 in flight',
    ...{ server: 'zookeeper', labels: ['a'], inFlight: 1, requests: 300, slots: { a: 10 }, cloud: {} },
  },
  {
    name: 'elastic, 10 in flight',
    ...{ server: 'zookeeper', labels: ['a'], inFlight: 10, requests: 4000, slots: { a: 40 }, cloud: {}, floor: true },
  },
  {
    name: 'elastic, 500 in flight',
    ...{
      server: 'zookeeper',
      labels: ['a'],
      inFlight: 500,
      requests: 6000,
      slots: { a: 1200 },
      cloud: {},
      floor: true,
    },
  },
  {
    name: 'cloud quota 20, 100 in flight',
    ...{ server: 'zookeeper', labels: ['a'], inFlight: 100, requests: 3000, slots: {} },
    warmUp: 3000, // its CPU is shown beside that of a scenario with the floor
    cloud: { settings: { quota: QUOTA } },
  },
  {
    name: 'max-servers 20, 100 in flight',
    ...{ server: 'zookeeper', labels: ['a'], inFlight: 100, requests: 3000, slots: {} },
    warmUp: 3000, // its CPU is shown beside that of a scenario with the floor
    cloud: { maxServers: 20 },
  },
  {
    name: 'cloud quota 20, 2 s to create and delete',
    ...{ server: 'zookeeper', labels: ['a'], inFlight: 100, requests: 200, slots: {} },
    cloud: { settings: { quota: QUOTA, ...SLOW } },
    capacityPerSecond: 20 / 4,
  },
  {
    name: 'max-servers 20, 2 s to create and delete',
    ...{ server: 'zookeeper', labels: ['a'], inFlight: 100, requests: 200, slots: {} },
    cloud: { maxServers: 20, settings: SLOW },
    capacityPerSecond: 20 / 4,
  },
  {
    name: 'metastatic, 100 slots in flight',
    ...{ server: 'zookeeper', labels: ['slot'], inFlight: 100, requests: 3000, slots: {} },
    cloud: { slotsPerNode: 20 },
  },
];
