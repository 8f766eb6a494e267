import {
  buildPath,
  decodeBuild,
  encodeBuild,
  isZooKeeperError,
  type BuildRecord,
  type ImageTree,
  type NodeCache,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import type { LaunchAttempt, UploadChoice } from '../../contract/images.js';
import {
  afterLaunch,
  canaryOf,
  fault,
  shareOf,
  withCanary,
  withoutProbe,
  withProbe,
  type Canary,
} from '../../images/trial.js';
import { mayBeFaultOfImage } from '../../images/image-causes.js';
import { NONE } from '../../images/rates.js';
import { pickUploads, type UploadPick } from '../../images/pick-uploads.js';
import { providersWithout, withdrawal } from '../../images/withdrawal.js';
import {
  applyCounts,
  countLaunch,
  countUses,
  isWorthStoring,
  putBackCounts,
  takeCounts,
  type CanaryCounts,
} from './canary-counts.js';
import type { Context } from './context.js';

/** The nodes a launcher knows. */
export type NodesById = Pick<NodeCache, 'get'>;

type Build = Pick<BuildRecord, 'image' | 'id'>;
type Change = (canary: Canary, nowMs: number) => Canary | undefined;

/** A use that is shorter counts as failed: Zuul returns a node at once if it cannot work with it. */
const SHORT_USE_MS = 60_000;

/** For this time a probe counts as in progress although its node is unknown: the mirror may show the node later. */
const PROBE_STAYS_MS = 60_000;

/**
 * Gives new builds their share of launches and withdraws those that fail. Launchers share the state of a trial through the
 * record of the build, which is written when a launch of the new build starts as a probe or ends. Launches of other images
 * write nothing.
 */
export class CanaryLaunches {
  readonly #context: Pick<Context, 'zk' | 'clock' | 'logger'>;
  readonly #tree: ImageTree;
  readonly #nodes: NodesById;
  readonly #counts: CanaryCounts = new Map();
  /** Percents accumulated for the next launch of a build. */
  readonly #turns = new Map<string, number>();
  readonly #probing = new Set<string>();

  constructor(context: Pick<Context, 'zk' | 'clock' | 'logger'>, tree: ImageTree, nodes: NodesById) {
    this.#context = context;
    this.#tree = tree;
    this.#nodes = nodes;
  }

  /** As `ImageSource.chooseUpload`. */
  choose(image: string, attempt: LaunchAttempt): Promise<UploadChoice> | undefined {
    const pick = pickUploads(this.#tree.images.get(image), attempt.provider, this.#context.clock.now());
    return pick?.canary && this.#choose(pick.upload, pick.canary, attempt);
  }

  /** A node is not in use any more. Counts it if its image is on trial, and it is from the new build or the previous one. */
  nodeUsed(before: NodeRecord, after: NodeRecord): void {
    const [, , , image = '', , buildId = '', , provider = ''] = before.imageId?.split('/') ?? [];
    const pick = pickUploads(this.#tree.images.get(image), provider, this.#context.clock.now());
    if (!pick?.canary) return;
    const isEarly = after.stateTimeMs - before.stateTimeMs < SHORT_USE_MS;
    const counts = { ready: isEarly ? 0 : 1, failed: isEarly ? 1 : 0 };
    const { id } = pick.canary.build;
    if (buildId === id) countUses(this.#counts, id, { now: counts, before: NONE });
    else if (buildId === pick.upload.buildId) countUses(this.#counts, id, { now: NONE, before: counts });
    this.imageChanged(image);
  }

  /** The records of an image have changed: counts of the previous build may decide about a failure now. */
  imageChanged(image: string): void {
    for (const build of this.#tree.images.get(image)?.builds.values() ?? []) {
      const canary = this.#counts.has(build.id) ? canaryOf(build, this.#context.clock.now()) : undefined;
      if (canary && isWorthStoring(this.#counts, build.id, canary)) void this.#store(build, (current) => current);
    }
  }

  async #choose(
    previous: UploadPick['upload'],
    canary: NonNullable<UploadPick['canary']>,
    { provider, node, mayTry }: LaunchAttempt,
  ): Promise<UploadChoice> {
    const { upload, build, state } = canary;
    if (!mayTry || !(await this.#isTurn(build, state, { provider, node }))) {
      const ended = (error: Error | undefined) => {
        if (!error || mayBeFaultOfImage(error))
          countLaunch(this.#counts, build.id, provider, { ready: error ? 0 : 1, failed: error ? 1 : 0 });
        this.imageChanged(build.image);
        return Promise.resolve(false);
      };
      return { upload: previous, ended };
    }
    const { image, id } = build;
    this.#context.logger.info('A new build of an image is tried out', { image, build: id, provider, nodeId: node });
    return { upload, ended: (error) => this.#ended(build, provider, node, error) };
  }

  /** Whether the next launch gets the new build. */
  async #isTurn(build: BuildRecord, state: Canary, at: Omit<LaunchAttempt, 'mayTry'>): Promise<boolean> {
    const share = shareOf(state, at.provider);
    if (share === 'probe') return this.#mayProbe(build, state, at);
    const turn = (this.#turns.get(build.id) ?? 0) + share;
    this.#turns.set(build.id, turn % 100);
    return turn >= 100;
  }

  async #mayProbe(
    build: BuildRecord,
    state: Canary,
    { provider, node }: Omit<LaunchAttempt, 'mayTry'>,
  ): Promise<boolean> {
    if (this.#isProbed(state, this.#context.clock.now()) || this.#probing.has(build.id)) return false;
    this.#probing.add(build.id);
    try {
      const probed = await this.#store(build, (canary, nowMs) =>
        shareOf(canary, provider) !== 'probe' || this.#isProbed(canary, nowMs)
          ? undefined
          : withProbe(canary, node, nowMs),
      );
      return probed !== undefined;
    } finally {
      this.#probing.delete(build.id);
    }
  }

  /** Whether a probe is in progress. A killed launcher leaves one whose node is not `building` any more. */
  #isProbed({ probe }: Canary, nowMs: number): boolean {
    if (!probe) return false;
    return nowMs < probe.sinceMs + PROBE_STAYS_MS || this.#nodes.get(probe.node)?.state === 'building';
  }

  async #ended(build: Build, provider: string, node: NodeId, error: Error | undefined): Promise<boolean> {
    if (error && !mayBeFaultOfImage(error)) {
      void this.#store(build, (canary) => (canary.probe?.node === node ? withoutProbe(canary, node) : undefined));
      return false;
    }
    const stored = this.#store(build, (canary, nowMs) =>
      afterLaunch(canary, { node, provider, error: error?.message }, nowMs),
    );
    if (!error) return false; // the launch need not wait for the write
    await stored;
    return true;
  }

  /** @returns what is stored now; `undefined`: nothing was changed */
  async #store(build: Build, change: Change): Promise<Canary | undefined> {
    const { logger } = this.#context;
    const counted = takeCounts(this.#counts, build.id);
    try {
      const stored = await this.#update(build, (canary, nowMs) => change(applyCounts(counted, canary, nowMs), nowMs));
      if (!stored) putBackCounts(this.#counts, build.id, counted);
      return stored;
    } catch (error) {
      putBackCounts(this.#counts, build.id, counted);
      if (!isZooKeeperError(error)) throw error;
      const fields = { image: build.image, build: build.id, error };
      logger.warn('What a launch showed about a new build could not be stored; later launches show it again', fields);
      return undefined;
    }
  }

  async #update(build: Build, change: Change): Promise<Canary | undefined> {
    const { zk, clock } = this.#context;
    const path = buildPath(build.image, build.id);
    for (;;) {
      try {
        const { data, stat } = await zk.getData(path);
        const nowMs = clock.now();
        const stored = decodeBuild(build, data, stat, nowMs);
        const canary = stored?.state === 'ready' && !this.#isOutdated(stored) ? canaryOf(stored, nowMs) : undefined;
        const next = canary && change(canary, nowMs);
        if (!stored || !canary || !next) return undefined;
        const reason = next.refused === null ? fault(next) : undefined;
        if (reason !== undefined) await this.#withdraw(stored, { ...next, refused: reason }, reason, nowMs);
        else {
          await zk.setData(path, encodeBuild(withCanary(stored, next)), stat.version);
          this.#tell(build, canary, next);
        }
        return next;
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
        if (!isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NODE_EXISTS')) throw error;
        await this.#tree.settle(); // another process wrote it first
      }
    }
  }

  /** Whether a newer build has replaced this one, so that its results do not matter any more. */
  #isOutdated({ image, stateTimeMs }: BuildRecord): boolean {
    const builds = this.#tree.images.get(image)?.builds.values() ?? [];
    return [...builds].some((build) => build.state === 'ready' && build.stateTimeMs > stateTimeMs);
  }

  /** If a provider has no other image, the build stays, and only providers with another image stop using it. */
  async #withdraw(build: BuildRecord, refused: Canary, reason: string, nowMs: number): Promise<void> {
    const { zk, logger } = this.#context;
    const bad = withCanary(build, refused);
    const entry = this.#tree.images.get(build.image);
    const fields = { image: build.image, build: build.id, reason };
    if (!entry || providersWithout(entry, bad).length > 0) {
      await zk.setData(buildPath(bad.image, bad.id), encodeBuild(bad), bad.stat?.version);
      logger.error('A new build of an image gets no launches any more where there is another one', fields);
      return;
    }
    const why = `build ${bad.id} was withdrawn: ${reason}`;
    await zk.multi(withdrawal(entry, bad, why, nowMs));
    logger.error('A new build of an image was withdrawn: the previous one serves, and builds are paused', fields);
  }

  #tell({ image, id }: Build, { share: old }: Canary, { share }: Canary): void {
    if (share === old) return;
    const { logger } = this.#context;
    if (share === 100) logger.info('A new build of an image is in service', { image, build: id });
    else logger.info('A new build of an image gets a greater share of launches', { image, build: id, percent: share });
  }
}
