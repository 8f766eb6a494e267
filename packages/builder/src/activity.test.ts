import { expect, it } from 'vitest';
import { newBuild, newUpload, type ImageEntry, type ImageTree, type JsonObject } from '@nodepool/zk-protocol';
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
  return describeActivity(config, tree, { builds, uploads }, (_image, name) => (name === 'sky' ? 2 : 0));
}

it('covers configured images that are built, with the providers that use them', () => {
  expect(describe([])).toEqual([
    {
      ...{ image: 'debian', isBuildRequested: false, build: 'idle', newestPercent: 100, isWithdrawn: false },
      newest: undefined,
      servedMs: new Map([
        ['sky', 0],
        ['sea', 0],
      ]),
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

it('has age, duration and size of the newest build, and the age of what each provider has', () => {
  const build = (id: string, builtMs: number) => {
    const ready = newBuild({ image: 'debian', id }, { state: 'ready' }, builtMs);
    return [id, { ...ready, raw: { duration: 60, files: { qcow2: { bytes: 5 } } } }] as const;
  };
  const key = { image: 'debian', buildId: 'b1', provider: 'sky', id: '1' };
  const uploads = new Map([['path', newUpload(key, { state: 'ready' }, 9_000)]]);

  const [image] = describe([entry({ builds: new Map([build('b1', 1_000), build('b2', 7_000)]), uploads })]);

  expect(image?.newest).toEqual({ builtMs: 7_000, seconds: 60, sizes: { qcow2: 5 } });
  expect([...(image?.servedMs ?? [])]).toEqual([
    ['sky', 1_000],
    ['sea', 0],
  ]);
});

it('shows of a provider the age of the build in service while a newer one is on trial', () => {
  const build = (id: string, builtMs: number, raw: JsonObject = {}) =>
    [id, { ...newBuild({ image: 'debian', id }, { state: 'ready' }, builtMs), raw }] as const;
  const canary = { share: 0, now: { sky: { ready: 0, failed: 2 } } };
  const builds = new Map([build('b1', 1_000), build('b2', 7_000, { canary })]);
  const uploads = ['b1', 'b2'].map((buildId, index) => {
    const key = { image: 'debian', buildId, provider: 'sky', id: String(index) };
    return [`path ${buildId}`, newUpload(key, { state: 'ready' }, 8_000 + index)] as const;
  });

  const [image] = describe([entry({ builds, uploads: new Map(uploads) })]);

  expect(image?.newestPercent).toBe(0);
  expect(image?.servedMs.get('sky')).toBe(1_000);
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
