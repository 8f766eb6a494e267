import { ImageTree } from '@nodepool/zk-protocol';
import type { ImageChange, ImageEntry, ZooKeeper } from '@nodepool/zk-protocol';
import { withZooKeeper } from '../connection/connection.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';

/** Image records of ZooKeeper, and the connection they were read from. */
export interface StoredImages {
  readonly zk: ZooKeeper;
  /** By name; kept up to date while it is used. */
  readonly images: ReadonlyMap<string, ImageEntry>;
}

/**
 * Runs `use` with all images, their builds and uploads.
 * @param changed - called when a record of an image changes meanwhile
 * @throws CliError when they could not be read
 */
export function withImages<T>(
  context: CliContext,
  use: (stored: StoredImages) => Promise<T> | T,
  changed: (image: string, change: ImageChange) => void = () => undefined,
): Promise<T> {
  return withZooKeeper(context, async (zk) => {
    const tree = new ImageTree({ zk, clock: context.clock, logger: context.logger, changed });
    try {
      await tree.start();
      if (!tree.ready) throw new CliError('Images could not be read: the connection to ZooKeeper broke; try again');
      return await use({ zk, images: tree.images });
    } finally {
      tree.stop();
    }
  });
}
