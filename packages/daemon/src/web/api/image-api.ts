import { requestBuild, type ImageEntry, type JsonObject, type ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { buildNote, buildReasonOf, durationOf, isServing, isTested, sizesOf } from '@nodepool/core/service';
import { ApiError } from '../api-error.js';
import {
  FLAG,
  listOf,
  NUMBERS,
  orNull,
  record,
  ref,
  TEXT,
  TIME,
  type ApiOperation,
  type ApiPart,
} from './operation.js';

const seconds = (ms: number) => ms / 1000;

const SECONDS = { type: 'number', description: 'How long it took, in seconds' };

const SERVES = { ...FLAG, description: 'Whether new launches in the provider use it' };

const SCHEMAS = {
  Upload: record({
    ...{ id: TEXT, build_id: TEXT, provider: TEXT, state: TEXT, state_time: TIME },
    ...{ external_name: orNull(TEXT), external_id: orNull(TEXT), duration: orNull(SECONDS), tested: orNull(FLAG) },
    serves: SERVES,
  }),
  Build: record({
    ...{ id: TEXT, image: TEXT, state: TEXT, state_time: TIME, builder: orNull(TEXT), formats: listOf(TEXT) },
    ...{ canary: orNull(TEXT), reason: orNull(TEXT), duration: orNull(SECONDS), sizes: orNull(NUMBERS) },
    uploads: listOf(ref('Upload')),
  }),
  Image: record({
    ...{ name: TEXT, paused: FLAG, pause_reason: orNull(TEXT), build_requested_time: orNull(TIME) },
    builds: listOf(ref('Build')),
  }),
};

function buildsToApi(image: ImageEntry): JsonObject[] {
  const uploads = [...image.uploads.values()];
  return [...image.builds.values()].map((build) => ({
    ...{ id: build.id, image: image.name, state: build.state, state_time: seconds(build.stateTimeMs) },
    ...{ builder: build.builder, formats: [...build.formats], canary: buildNote(build) ?? null },
    ...{ reason: buildReasonOf(build), duration: durationOf(build), sizes: sizesOf(build) },
    uploads: uploads
      .filter(({ buildId }) => buildId === build.id)
      .map((upload) => ({
        ...{ id: upload.id, build_id: upload.buildId, provider: upload.provider, state: upload.state },
        ...{ state_time: seconds(upload.stateTimeMs), external_name: upload.externalName },
        ...{ external_id: upload.externalId, duration: durationOf(upload), tested: isTested(upload) },
        serves: isServing(image, upload),
      })),
  }));
}

/** Converts an image with its builds and uploads to the schema `Image`. */
export function imageToApi(image: ImageEntry): JsonObject {
  const { name, paused, pauseReason, buildRequestedMs } = image;
  const requested = buildRequestedMs === undefined ? null : seconds(buildRequestedMs);
  const pause = { paused, pause_reason: pauseReason ?? null };
  return { name, ...pause, build_requested_time: requested, builds: buildsToApi(image) };
}

/** Data sources of {@link createImageApi}. */
export interface ImageApiSources {
  readonly zk: ZooKeeper;
  readonly config: () => Config;
  readonly images: () => ReadonlyMap<string, ImageEntry>;
}

async function orderBuild({ zk, config, images }: ImageApiSources, name: string): Promise<void> {
  const image = config().diskimages.get(name);
  if (!image || image.abstract) {
    throw new ApiError(404, 'unknown-image', `The configuration has no diskimage "${name}" to build`);
  }
  if (image.pause || images().get(name)?.paused === true) {
    throw new ApiError(409, 'paused', `Image "${name}" is paused: end the pause first`);
  }
  await requestBuild(zk, name);
}

/** Operations on images, common to all services. */
export function createImageApi(sources: ImageApiSources): ApiPart {
  const name = { type: 'string', description: 'Name of an image' };
  const operations: ApiOperation[] = [
    {
      ...{ id: 'listImages', method: 'GET', path: '/images', summary: 'Images with their builds and uploads' },
      answer: listOf(ref('Image')),
      handle: () => [...sources.images().values()].map(imageToApi),
    },
    {
      ...{ id: 'listBuilds', method: 'GET', path: '/builds', summary: 'Builds of all images' },
      answer: listOf(ref('Build')),
      handle: () => [...sources.images().values()].flatMap(buildsToApi),
    },
    {
      ...{ id: 'buildImage', method: 'POST', path: '/images/{name}/build', summary: 'Ask builders for a build now' },
      pathParameters: { name },
      answer: record({ image: TEXT, requested: FLAG }),
      errors: { 404: 'There is no such image', 409: 'The image is paused' },
      async handle({ path }) {
        await orderBuild(sources, path['name'] ?? '');
        return { image: path['name'] ?? '', requested: true };
      },
    },
  ];
  return { operations, schemas: SCHEMAS };
}
