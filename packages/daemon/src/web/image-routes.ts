import type { Clock, ImageEntry } from '@nodepool/zk-protocol';
import {
  buildListing,
  buildsOf,
  extendedBuildListing,
  extendedImageStatusListing,
  extendedUploadListing,
  imagesOf,
  imageStatusListing,
  imageWorkListing,
  uploadListing,
  uploadsOf,
  type ImageWork,
} from '@nodepool/core/service';
import { listingRoute } from './listing-route.js';
import type { RouteTable } from './routes.js';

/** Listings of images from the cache of the service; they cause no load on ZooKeeper. */
export function createImageRoutes(images: () => ReadonlyMap<string, ImageEntry>, clock: Clock): RouteTable {
  const builds = { listing: buildListing, selectable: extendedBuildListing, rows: () => buildsOf(images()) };
  const uploads = { listing: uploadListing, selectable: extendedUploadListing, rows: () => uploadsOf(images()) };
  const status = {
    ...{ listing: imageStatusListing, selectable: extendedImageStatusListing },
    rows: () => imagesOf(images()),
  };
  return new Map([
    ['/dib-image-list', listingRoute(clock, builds)],
    ['/image-list', listingRoute(clock, uploads)],
    ['/image-status', listingRoute(clock, status)],
  ]);
}

/** Listing of the builds and uploads in progress in a builder. */
export function createImageWorkRoutes(work: () => readonly ImageWork[], clock: Clock): RouteTable {
  return new Map([['/image-work', listingRoute(clock, { listing: imageWorkListing, rows: work })]]);
}
