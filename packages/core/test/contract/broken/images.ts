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
    make: differing({
      adapter: (_honest, cloud) => ({ uploadImage: ({ name, metadata }) => cloud.upload(name, metadata) }),
    }),
  },
];
