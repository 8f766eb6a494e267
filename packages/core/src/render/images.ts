import type { BuildRecord, ImageEntry, UploadRecord } from '@nodepool/zk-protocol';
import { buildNote, imageNotes } from '../images/notes.js';
import { isServing } from '../images/pick-uploads.js';
import { formatAge } from './age.js';
import { buildReasonOf, durationOf, isTested, sizesOf } from './image-figures.js';
import { timeColumn, withRanks, type Column, type Listing } from './listing.js';

/** A build, and whether an operator paused its image. */
export interface BuildRow {
  readonly build: BuildRecord;
  readonly paused: boolean;
}

/** An upload with its image, whose other uploads decide whether it serves. */
export type UploadRow = UploadRecord & { readonly entry: ImageEntry };

const MS_PER_SECOND = 1000;

/** Additional key in a record: the reason for its failure. */
const ERROR_KEY = 'error';

function errorOf({ raw }: BuildRecord | UploadRecord): string | null {
  const error = raw[ERROR_KEY];
  return typeof error === 'string' ? error : null;
}

/** Column of a time: UNIX time in JSON, the age in a table. */
function age<Row>(key: string, header: string, momentMs: (row: Row) => number | undefined): Column<Row> {
  return {
    key,
    header,
    level: 'brief',
    value(row) {
      const ms = momentMs(row);
      return ms === undefined ? null : Math.floor(ms / MS_PER_SECOND);
    },
    cell(row, nowMs) {
      const ms = momentMs(row);
      return ms === undefined ? '' : formatAge(nowMs - ms);
    },
  };
}

function column<Row>(
  key: string,
  header: string,
  value: Column<Row>['value'],
  level: Column<Row>['level'] = 'brief',
): Column<Row> {
  return { key, header, level, value };
}

/** Columns of `nodepool dib-image-list` and `/dib-image-list`. */
export const buildListing: Listing<BuildRow> = withRanks(
  [
    column<BuildRow>('id', 'ID', ({ build }) => `${build.image}-${build.id}`),
    column('image', 'Image', ({ build }) => build.image),
    column('builder', 'Builder', ({ build }) => build.builder),
    column('formats', 'Formats', ({ build }) => [...build.formats]),
    column('state', 'State', ({ build, paused }) => (paused ? 'paused' : build.state)),
    age('age', 'Age', ({ build }) => build.stateTimeMs),
  ],
  { whole: ['id'], spare: ['image', 'builder', 'formats'] },
);

/** {@link buildListing} with the additional members of this implementation, shown on request. */
export const extendedBuildListing: Listing<BuildRow> = [
  ...buildListing,
  column('build_id', 'Build ID', ({ build }) => build.id, 'extra'),
  column('build_state', 'Build State', ({ build }) => build.state, 'extra'),
  timeColumn('state_time', 'State Time', 'extra', ({ build }) => build.stateTimeMs),
  column('error', 'Error', ({ build }) => errorOf(build), 'extra'),
  column('canary', 'Canary', ({ build }) => buildNote(build) ?? null, 'extra'),
  column('reason', 'Reason', ({ build }) => buildReasonOf(build), 'extra'),
  { ...column('duration', 'Duration', ({ build }) => durationOf(build), 'extra'), cell: ({ build }) => took(build) },
  { ...column('sizes', 'Sizes', ({ build }) => sizesOf(build), 'extra'), cell: ({ build }) => sizesText(build) },
];

const MEBIBYTE = 1_048_576;

function took(record: BuildRecord | UploadRecord): string {
  const seconds = durationOf(record);
  return seconds === null ? '' : formatAge(seconds * MS_PER_SECOND);
}

function sizesText(build: BuildRecord): string {
  const sizes = Object.entries(sizesOf(build) ?? {});
  return sizes.map(([format, bytes]) => `${format}: ${(bytes / MEBIBYTE).toFixed(1)} MiB`).join(', ');
}

/** For people: an image without `validate` is not tested. */
function testedText(upload: UploadRecord): string {
  const tested = isTested(upload);
  return tested === null ? '' : tested ? 'tested' : 'untested';
}

/** Columns of `nodepool image-list` and `/image-list`. */
export const uploadListing: Listing<UploadRecord> = withRanks(
  [
    column<UploadRecord>('id', 'Build ID', (upload) => upload.buildId),
    column('upload_id', 'Upload ID', (upload) => upload.id),
    column('provider', 'Provider', (upload) => upload.provider),
    column('image', 'Image', (upload) => upload.image),
    column('external_name', 'Provider Image Name', (upload) => upload.externalName),
    column('external_id', 'Provider Image ID', (upload) => upload.externalId),
    column('state', 'State', (upload) => upload.state),
    age('age', 'Age', (upload) => upload.stateTimeMs),
  ],
  { whole: ['id'], spare: ['external_name', 'external_id', 'upload_id', 'age'] },
);

/** {@link uploadListing} with the additional members of this implementation, shown on request. */
export const extendedUploadListing: Listing<UploadRow> = [
  ...uploadListing,
  column('build_id', 'Build ID', (upload) => upload.buildId, 'extra'),
  column('format', 'Format', (upload) => upload.format, 'extra'),
  timeColumn('state_time', 'State Time', 'extra', (upload) => upload.stateTimeMs),
  column('error', 'Error', errorOf, 'extra'),
  { ...column<UploadRecord>('duration', 'Duration', durationOf, 'extra'), cell: took },
  { ...column<UploadRecord>('tested', 'Tested', isTested, 'extra'), cell: testedText },
  {
    ...column<UploadRow>('serves', 'Serves', (upload) => isServing(upload.entry, upload), 'extra'),
    isChanging: true,
    cell: (upload) => (isServing(upload.entry, upload) ? 'serves' : ''),
  },
];

/** Columns of `nodepool image-status` and `/image-status`. */
export const imageStatusListing: Listing<ImageEntry> = [
  column('image', 'Image', ({ name }) => name),
  column('paused', 'Paused', ({ paused }) => paused),
  column('build_request', 'Build Request', buildRequestState),
  age('build_request_age', 'Build Request Age', ({ buildRequestedMs }) => buildRequestedMs),
];

/** {@link imageStatusListing} with the additional members of this implementation, shown on request. */
export const extendedImageStatusListing: Listing<ImageEntry> = [
  ...imageStatusListing,
  column('notes', 'Notes', imageNotes, 'extra'),
];

/** State of a build request: pending until a build starts after it. */
function buildRequestState({ buildRequestedMs, builds }: ImageEntry): 'building' | 'pending' | null {
  if (buildRequestedMs === undefined) return null;
  const isServed = [...builds.values()].some(
    ({ state, stat, stateTimeMs }) => state === 'building' && (stat?.ctime ?? stateTimeMs) >= buildRequestedMs,
  );
  return isServed ? 'building' : 'pending';
}

/** Columns of `nodepool alien-image-list`. */
export const alienImageListing: Listing<{ provider: string; name: string; externalId: string }> = [
  column('provider', 'Provider', ({ provider }) => provider),
  column('name', 'Name', ({ name }) => name),
  column('image_id', 'Image ID', ({ externalId }) => externalId),
];

/** Duration in ms of the newest successful build that records it; `undefined` if none does. */
export function lastBuildMs(entry: ImageEntry | undefined): number | undefined {
  let newest: { readonly stateTimeMs: number; readonly seconds: number } | undefined;
  for (const build of entry?.builds.values() ?? []) {
    const { state, stateTimeMs } = build;
    const seconds = durationOf(build);
    if (state !== 'ready' || seconds === null) continue;
    if (!newest || stateTimeMs > newest.stateTimeMs) newest = { stateTimeMs, seconds };
  }
  return newest && newest.seconds * MS_PER_SECOND;
}

/** Images by name, with their builds and uploads. */
export type Images = ReadonlyMap<string, ImageEntry>;

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** All images, by name. */
export function imagesOf(images: Images): ImageEntry[] {
  return [...images.values()].sort((a, b) => compareText(a.name, b.name));
}

/** All builds, by image and build id. */
export function buildsOf(images: Images): BuildRow[] {
  return imagesOf(images).flatMap(({ builds, paused }) =>
    [...builds.values()].sort((a, b) => compareText(a.id, b.id)).map((build) => ({ build, paused })),
  );
}

/** All uploads, by image, build id, provider and upload id. */
export function uploadsOf(images: Images): UploadRow[] {
  return imagesOf(images).flatMap((entry) =>
    [...entry.uploads].sort(([a], [b]) => compareText(a, b)).map(([, upload]) => ({ ...upload, entry })),
  );
}
