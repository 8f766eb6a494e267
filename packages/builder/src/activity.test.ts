import { expect, it } from 'vitest';
import { newBuild, type ImageEntry, type ImageTree } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { ActivityReport, describeActivity } from './activity.js';
import type { Progress } from './context/progress.js';

const entry = (changes: Partial<ImageEntry> = {}): ImageEntry => ({
  ...{ name: 'debian', paused: false, buildRequestedMs: undefined, uploads: new Map() },
  ...{ builds: new Map([['b1', newBuild({ image: 'debian', id: 'b1' }, { state: 'ready' }, 0)]]), ...changes },
});
const progress = (changes: Partial<Progress>): Progress => ({
  ...{ image: 'debian', buildId: 'b1', startedMs: 0, phase: 'root', ...changes },
});

function describe(images: readonly ImageEntry[], running: { builds?: Progress[]; uploads?: Progress[] } = {}) {
  const provider = (name: string, pause: boolean) =>
    [name, { name, images: { diskimages: new Map([['debian', { name: 'debian', pause }]]) } }] as const;
  const config = {
    diskimages: new Map([
      ['debian', { name: 'debian', pause: false, abstract: false }],
      ['base', { name: 'base', pause: false, abstract: true }],
    ]),
    providers: new Map<string, unknown>([provider('sky', false), provider('sea', true), ['rack', { name: 'rack' }]]),
  } as unknown as Config;
  const tree = { images: new Map(images.map((each) => [each.name, each])) } as unknown as ImageTree;
  const { builds = [], uploads = [] } = running;
  return describeActivity(
    config,
    tree,
    { builds, uploads },
    {
      nowMs: 0,
      failuresOf: (_image, name) => (name === 'sky' ? 2 : 0),
    },
  );
}

it('covers configured images that are built, with the providers that use them', () => {
  expect(describe([])).toEqual([
    {
      ...{ image: 'debian', isBuildRequested: false, build: 'idle', canaryPercent: 100, isWithdrawn: false },
      uploads: new Map([
        ['sky', 'idle'],
        ['sea', 'paused'],
      ]),
      failures: new Map([
        ['sky', 2],
        ['sea', 0],
      ]),
    },
  ]);
});

it('shows work in progress before a pause', () => {
  const running = { builds: [progress({})], uploads: [progress({ provider: 'sea' })] };
  const [image] = describe([entry({ paused: true, buildRequestedMs: 5 })], running);

  expect(image).toMatchObject({ build: 'building', isBuildRequested: true });
  expect(image?.uploads.get('sea')).toBe('uploading');
  expect(describe([entry({ paused: true })])).toMatchObject([{ build: 'paused' }]);
});

it('reports once for all changes in one turn of the event loop', async () => {
  let reports = 0;
  const report = new ActivityReport(() => reports++);
  report.soon();
  report.soon();
  expect(reports).toBe(0);
  await Promise.resolve();
  expect(reports).toBe(1);
  report.soon();
  await Promise.resolve();

  expect(reports).toBe(2);
});
