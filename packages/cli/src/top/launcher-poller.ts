import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';
import { durationText, fetchService } from '@nodepool/core/service';
import { isOverview, type LaunchLine, type LauncherView, type Overview, type Snapshot } from './snapshot.js';

const ANSWER_MS = 3_000;
/** How often the registry is read again. */
const REGISTRY_MS = 10_000;

/** Where to find launchers. */
export interface PollerOptions {
  readonly clock: Clock;
  /** Missing: only the given launchers are asked. */
  readonly zk?: Pick<ZooKeeper, 'state'>;
  /** URLs of the registered launchers; called only while ZooKeeper is connected. */
  readonly findUrls: () => Promise<readonly string[]>;
}

/** Polls all launchers, and keeps the last answer of those that do not answer any more. */
export class LauncherPoller {
  readonly #options: PollerOptions;
  #urls: readonly string[] = [];
  #registryMs = -Infinity;
  #awaySinceMs: number | undefined;
  #views = new Map<string, LauncherView>();

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async poll(): Promise<Snapshot> {
    const { clock } = this.#options;
    const zooKeeperTrouble = await this.#readRegistry();
    const views = await Promise.all(this.#urls.map((url) => this.#ask(url)));
    this.#views = new Map(views.map((view) => [view.url, view]));
    return { nowMs: clock.now(), launchers: views, zooKeeperTrouble };
  }

  /** @returns a problem of ZooKeeper */
  async #readRegistry(): Promise<string | undefined> {
    const { clock, zk, findUrls } = this.#options;
    if (zk && zk.state !== 'CONNECTED') {
      this.#awaySinceMs ??= clock.now();
      return `no connection for ${durationText((clock.now() - this.#awaySinceMs) / 1000)}; asking the launchers known before`;
    }
    this.#awaySinceMs = undefined;
    if (clock.now() - this.#registryMs < REGISTRY_MS) return undefined;
    try {
      const found = await findUrls();
      // keep a launcher that has left the registry until it stops answering
      const leaving = this.#urls.filter((url) => !found.includes(url) && this.#views.get(url)?.lost === undefined);
      this.#urls = [...found, ...leaving];
      this.#registryMs = clock.now();
      return undefined;
    } catch (error) {
      return describeError(error);
    }
  }

  async #ask(url: string): Promise<LauncherView> {
    const known = this.#views.get(url);
    try {
      const [overview, launches] = await Promise.all([
        getJson(url, 'api/v1/overview'),
        getJson(url, 'api/v1/nodes?state=building'),
      ]);
      if (!isOverview(overview)) throw new Error('it has no overview: an older launcher, or another service');
      return { url, overview, launches: Array.isArray(launches) ? (launches as LaunchLine[]) : [], lost: undefined };
    } catch (error) {
      const sinceMs = known?.lost?.sinceMs ?? this.#options.clock.now();
      const before: Overview | undefined = known?.overview;
      return { url, overview: before, launches: known?.launches ?? [], lost: { sinceMs, why: reasonOf(error) } };
    }
  }
}

async function getJson(url: string, path: string): Promise<unknown> {
  const target = new URL(path, url.endsWith('/') ? url : `${url}/`);
  const response = await fetchService(target, { signal: AbortSignal.timeout(ANSWER_MS) });
  if (response.status === 404) throw new Error(`it has no /${path}: an older launcher, or another service`);
  if (!response.ok) throw new Error(`it answered with status ${response.status}`);
  return response.json();
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && cause.name === 'TimeoutError') return `no answer within ${ANSWER_MS / 1000} s`;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : describeError(cause);
}
