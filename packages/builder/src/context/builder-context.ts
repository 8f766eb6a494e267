import type { Config, Logger } from '@nodepool/core';
import type { Clock, ImageTree, ZooKeeper } from '@nodepool/zk-protocol';
import type { Sandbox } from '../tool/sandbox.js';
import type { AbsentBuilders } from './absent-builders.js';
import type { SpaceBook } from './space.js';
import type { BuilderEvents } from '@nodepool/core/service';
import type { ImageProviders } from '../providers/image-providers.js';

/** Context shared by all parts of a builder. */
export interface BuilderContext {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** The configuration in force. */
  readonly config: () => Config;
  readonly tree: ImageTree;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Id of the database, which images carry as a tag. */
  readonly databaseId: () => string | undefined;
  /** False while another builder or another database may have the images directory; then no work may start. */
  readonly holdsId: () => boolean;
  /** Asks ZooKeeper whether the files in `imagesDir` belong to this database; call it before any is deleted. */
  readonly ownsFiles: () => Promise<boolean>;
  /** Called after the record of a build was made: an older copy of the database lacks it. */
  readonly noteBuild: () => Promise<void>;
  /** Lasting id of this builder. */
  readonly builderId: string;
  /** Where images and their logs go; both exist. */
  readonly imagesDir: string;
  readonly logDir: string;
  /** Directory of this builder for temporary files, one directory a build. */
  readonly tmpRoot: string;
  /** Replaces `%p` in `dib-cmd`. */
  readonly packageDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandbox: Sandbox;
  readonly space: SpaceBook;
  readonly absent: AbsentBuilders;
  readonly providers: ImageProviders;
  readonly events: BuilderEvents;
  /** Called when a build or an upload started or made progress. */
  readonly activityChanged: () => void;
  /** Called when a build or an upload ended and its files may be removed. */
  readonly workEnded: () => void;
}
