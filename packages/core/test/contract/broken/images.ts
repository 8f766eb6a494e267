import { differing, driverWith, providerWith, type BrokenDriver } from './broken-driver.js';

/** Flaws that break the part "images" of the contract. */
export const IMAGES: readonly BrokenDriver[] = [
  {
    flaw: 'promises an answer about images',
    breaks: 'images: says at once whether the images of its labels exist',
    spoilsAll: true, // an invalid answer counts as "no"
    make: providerWith(() => ({ labelReady: () => Promise.resolve(true) as unknown as boolean })),
  },
  {
    flaw: 'manages images without saying so',
    breaks: 'images: manages images only if it says that it can',
    make: driverWith({ capabilities: { launches: true, pausesAtQuota: true, managesImages: false } }),
  },
  {
    flaw: 'takes it for an error that an image is gone',
    breaks: 'images: uploads an image, deletes it, and takes deleting twice for granted',
    make: differing({ adapter: (_honest, cloud) => ({ deleteImage: (name) => cloud.deleteImage(name) }) }),
  },
  {
    flaw: 'keeps the id of an image to itself until it is uploaded',
    breaks: 'images: uploads an image, deletes it, and takes deleting twice for granted',
    also: ['images: continues an upload, at whatever moment the builder dies'],
    make: differing({
      adapter: (_honest, cloud) => ({ uploadImage: ({ name, metadata }) => cloud.upload(name, metadata) }),
    }),
  },
  {
    flaw: 'takes an image without its data for a complete one',
    breaks: 'images: continues an upload, at whatever moment the builder dies',
    make: differing({
      adapter: (_honest, { images }) => ({
        listImages: () =>
          Promise.resolve(
            Array.from(images, ([name, metadata]) => ({ externalId: name, name, ready: true, metadata })),
          ),
      }),
    }),
  },
  {
    flaw: 'shows no image before it is complete',
    breaks: 'images: continues an upload, at whatever moment the builder dies',
    make: differing({
      adapter: (honest, cloud) => ({
        uploadImage: async ({ name, metadata, onCreated, onProgress }) => {
          const id = await cloud.upload(`${name}-${cloud.images.size}`, metadata);
          await onCreated?.(id);
          onProgress?.(1, 1);
          await cloud.complete(id);
          return id;
        },
        listImages: async (signal) => ((await honest.listImages?.(signal)) ?? []).filter(({ ready }) => ready),
      }),
    }),
  },
];
