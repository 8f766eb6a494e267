import {
  isZooKeeperError,
  type ImageEntry,
  type NodeCache,
  type NodeId,
  type NodeRecord,
  type Operation,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import type { LaunchAttempt, UploadChoice } from '../../contract/images.js';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { mayBeFaultOfImage } from '../../images/image-causes.js';
import { nodeNote } from '../../images/notes.js';
import { pickUploads } from '../../images/pick-uploads.js';
import {
  added,
  afterLaunches,
  faultOf,
  launchesIn,
  NO_LAUNCHES,
  trialOf,
  withTrial,
  type EndedLaunches,
  type LaunchCounts,
} from '../../images/trial.js';
import { providersWithout, setBuild, withdrawalFrom } from '../../images/withdrawal.js';
import type { Feature } from '../../launcher/nodes/feature.js';
import type { Context } from '../../launcher/state/context.js';
import type { ImageMirror, UploadPicker } from '../../launcher/state/image-mirror.js';

/** What trials use of a launcher. */
interface Engine {
  readonly context: Pick<Context, 'zk' | 'clock' | 'logger'> & {
    readonly mirror: { readonly nodes: Pick<NodeCache, 'get'> };
  };
  readonly images: ImageMirror;
}

/** A new build in a provider. */
interface Place {
  readonly image: string;
  readonly build: string;
  readonly provider: string;
}

/** A launch that tries a new build: the only one of this launcher in the provider, until its end is known. */
interface TriedLaunch {
  readonly node: NodeId;
  /** Message of its failure, while an attempt with the build before it shows whether that is the fault of the new one. */
  readonly error?: string;
}

/** What an end of launches changes in the records of an image. */
interface Step {
  readonly operations: readonly Operation[];
  /** Why the build is withdrawn; missing: it is not. */
  readonly reason?: string;
}

const READY: LaunchCounts = { ready: 1, failed: 0 };
const FAILED: LaunchCounts = { ready: 0, failed: 1 };

/**
 * Tries new builds of images: in each provider with one launch at a time, until one of its nodes is ready there. A build whose launches
 * all fail is withdrawn (`faultOf`). A failure counts if an attempt of the same launch with the build before it then succeeds. Launchers
 * count together, in the record of the build.
 */
class ImageTrials implements Feature, UploadPicker {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #tried = new Map<string, TriedLaunch>();
  /** Ended launches of builds before new ones that are not stored yet. */
  readonly #before = new Map<string, LaunchCounts>();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#logger = engine.context.logger.child({}, LOGGER_NAMES.launcher);
    engine.images.pickBy(this);
  }

  explainNode(node: NodeRecord): string | undefined {
    return nodeNote(this.#engine.images.images, node);
  }

  inService(entry: ImageEntry, provider: string): UploadRecord | undefined {
    return pickUploads(entry, provider)?.upload;
  }

  choose(entry: ImageEntry, { provider, node, mayTry }: LaunchAttempt): UploadChoice | undefined {
    const { upload, trial } = pickUploads(entry, provider) ?? {};
    if (!upload || !trial) return undefined;
    const place = { image: entry.name, build: trial.build.id, provider };
    if (!mayTry || this.#isTried(place)) return { upload, ended: (error) => this.#previousEnded(place, node, error) };
    this.#tried.set(keyOf(place), { node });
    this.#logger.info('A new build of an image is tried out', { ...place, nodeId: node });
    return { upload: trial.upload, ended: (error) => this.#newEnded(place, node, error) };
  }

  /** Whether a launch tries the build. After an end without a result, as when its provider was removed, its node is not in the making. */
  #isTried(place: Place): boolean {
    const tried = this.#tried.get(keyOf(place));
    return tried !== undefined && this.#engine.context.mirror.nodes.get(tried.node)?.state === 'building';
  }

  /** @returns whether the image may be at fault */
  #newEnded(place: Place, node: NodeId, error: Error | undefined): boolean {
    if (error && mayBeFaultOfImage(error)) {
      this.#tried.set(keyOf(place), { node, error: error.message });
      return true;
    }
    this.#tried.delete(keyOf(place));
    if (!error) void this.#store(place, READY, null);
    return false;
  }

  #previousEnded(place: Place, node: NodeId, error: Error | undefined): boolean {
    if (error && !mayBeFaultOfImage(error)) return false;
    const key = keyOf(place);
    this.#before.set(key, added(this.#before.get(key) ?? NO_LAUNCHES, error ? FAILED : READY));
    const tried = this.#tried.get(key);
    if (tried?.node !== node || tried.error === undefined) return false;
    this.#tried.delete(key);
    if (!error) void this.#store(place, FAILED, tried.error);
    return false;
  }

  /** Counts an ended launch of a new build, with those of the build before it that are not stored yet. */
  async #store(place: Place, now: LaunchCounts, error: string | null): Promise<void> {
    const logger = this.#logger;
    const before = this.#before.get(keyOf(place)) ?? NO_LAUNCHES;
    this.#before.delete(keyOf(place));
    try {
      for (;;) {
        await this.#engine.images.settle(); // other launchers count, too
        const step = this.#stepOf(place, { now, before, error });
        if (!step) return;
        if (!(await this.#commit(step.operations))) continue;
        const { reason } = step;
        if (reason !== undefined)
          logger.error('A new build was withdrawn: the one before it serves', { ...place, reason });
        if (now.ready > 0) logger.info('A new build of an image is in service', { ...place });
        return;
      }
    } catch (cause) {
      if (!isZooKeeperError(cause)) throw cause;
      const message = 'What a launch showed about a new build could not be stored; later launches show it again';
      logger.warn(message, { ...place, error: cause });
    }
  }

  /** @returns `undefined` if the trial has ended */
  #stepOf({ image, build: id, provider }: Place, ended: EndedLaunches): Step | undefined {
    const { context, images } = this.#engine;
    const entry = images.images.get(image);
    const build = entry?.builds.get(id);
    const trial = build?.state === 'ready' ? trialOf(build) : undefined;
    if (!entry || !build || !trial) return undefined;
    const next = afterLaunches(trial, provider, ended);
    const tried = withTrial(build, next);
    const fault = faultOf(launchesIn(next, provider));
    if (fault === undefined || providersWithout(entry, build).includes(provider))
      return { operations: [setBuild(tried)] };
    const reason = `${fault}; the last error was: ${next.error ?? 'unknown'}`;
    return { operations: withdrawalFrom(provider, entry, tried, reason, context.clock.now()), reason };
  }

  /** @returns `false` if another process has changed a record meanwhile */
  async #commit(operations: readonly Operation[]): Promise<boolean> {
    try {
      await this.#engine.context.zk.multi(operations);
      return true;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NODE_EXISTS', 'ZK_NO_NODE')) return false;
      throw error;
    }
  }
}

const keyOf = ({ build, provider }: Place): string => JSON.stringify([build, provider]);

/** `canary` of diskimages. */
export const imageTrials = (engine: Engine): Feature => new ImageTrials(engine);
