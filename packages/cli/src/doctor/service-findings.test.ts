import { expect, it } from 'vitest';
import type { ServiceReport } from './ask-services.js';
import { findServiceTroubles } from './service-findings.js';

const well: ServiceReport = {
  ...{ url: 'http://nl01:8005', hostname: 'nl01', skewMs: 900, configError: undefined, brokenProviders: [] },
  ...{ failingUploads: [], failingRemovals: [] },
  ...{
    failingLaunches: [],
    failingDeletions: [],
    leaked: [],
    aliens: [],
    leaks: [{ provider: 'rack', type: 'instances', count: 0 }],
  },
};

it('finds nothing wrong with a service that is well', () => {
  expect(findServiceTroubles({ services: [well], nowMs: 100_000 })).toEqual([]);
});

it.each([
  [{ skewMs: -42_400 }, 'warning: the clock of nl01 is 42 s behind the one of this machine'],
  [{ configError: 'line 3' }, 'error: nl01 continues with its former configuration: line 3'],
  [{ brokenProviders: ['rack'] }, 'error: provider "rack" could not be started on nl01'],
  [
    { failingLaunches: [{ provider: 'rack', what: 'provider "rack"', error: 'no route', nextProbeMs: 140_900 }] },
    'warning: launches of provider "rack" fail on nl01: no route; other providers serve what they can instead, next probe in 40 s',
  ],
  [
    {
      failingLaunches: [
        { provider: 'rack', what: 'label "a" in provider "rack"', error: 'full', nextProbeMs: undefined },
      ],
    },
    'warning: launches of label "a" in provider "rack" fail on nl01: full; other providers serve what they can instead, a probe is under way',
  ],
  [
    { failingDeletions: [{ node: '0000000007', attempts: 4, error: 'forbidden' }] },
    'error: the deletion of node 0000000007 has failed 4 times: forbidden',
  ],
  [
    { failingUploads: [{ image: 'debian', provider: 'sky', attempts: 2, error: 'it has failed its test' }] },
    'warning: the upload of image debian to provider "sky" has failed 2 times: it has failed its test',
  ],
  [
    { failingRemovals: [{ name: 'debian/1/sky/2', attempts: 3, error: 'in use' }] },
    'error: the removal of image debian/1/sky/2 has failed 3 times: in use',
  ],
  [
    { leaks: [{ provider: 'rack', type: 'instances', count: 3 }] },
    'warning: nl01 has deleted 3 leaked instances of provider "rack" since its start',
  ],
])('tells what a service says is wrong: %j', (changes, expected) => {
  const found = findServiceTroubles({ services: [{ ...well, ...changes }], nowMs: 100_000 });

  expect(found.map(({ severity, text }) => `${severity}: ${text}`)).toEqual([expected]);
});

it('tells of a service that does not answer', () => {
  const [found] = findServiceTroubles({ nowMs: 0, services: [{ url: 'http://nl01:8005', why: 'ECONNREFUSED' }] });

  expect(found?.text).toBe('the service at http://nl01:8005 is registered and does not answer: ECONNREFUSED');
});

it('tells once of alien resources that several services see, and how to go on', () => {
  const alien = { provider: 'rack', type: 'instance', id: 'i-1', name: 'np1', database: null };
  const further = Array.from({ length: 12 }, (_, i) => ({
    provider: 'sky',
    type: 'image',
    id: `m-${i}`,
    name: null,
    database: null,
  }));
  const services = [
    { ...well, aliens: [alien] },
    { ...well, hostname: 'nl02', aliens: [alien, ...further] },
  ];

  const found = findServiceTroubles({ services, nowMs: 100_000 });

  expect(found).toMatchObject([
    { severity: 'warning', remedy: 'nodepool adopt rack' },
    { severity: 'warning', remedy: 'nodepool adopt sky' },
  ]);
  expect(found[0]?.text).toBe(
    '1 alien resources carry the name of provider "rack" and have no record in this database: instance i-1 (np1); ' +
      'they are not deleted',
  );
  expect(found[1]?.text).toContain('12 alien resources');
  expect(found[1]?.text).toContain('image m-9 and 2 more');
});

it('asks whether the database is the right one when resources carry the id of another', () => {
  const alien = { provider: 'rack', type: 'instance', id: 'i-1', name: null, database: 'f'.repeat(32) };

  const [found] = findServiceTroubles({ services: [{ ...well, aliens: [alien] }], nowMs: 100_000 });

  expect(found?.text).toContain('and the id of another database: instance i-1; they are not deleted');
  expect(found?.remedy).toContain('Correct zookeeper-servers or --state-dir');
});
