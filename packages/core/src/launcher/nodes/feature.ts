import type { Clock, CommitTarget, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Ledger } from '../ledger/ledger.js';
import type { StandbySource } from '../plan/nodes.js';
import type { Steering } from '../plan/steering.js';
import type { Assignment } from '../plan/types.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { LostRequests } from '../requests/lost-requests.js';
import type { Context } from '../state/context.js';
import type { Part } from '../state/part.js';
import type { ImageMirror } from '../state/image-mirror.js';
import type { ServerTime } from '../state/server-clock.js';
import type { LivePoolView } from '../view/pool-view.js';
import type { PoolViews } from '../view/pool-views.js';
import type { IdleNodes } from './idle-nodes.js';
import type { Reaper } from './reaper.js';
import type { StandbyLevels } from './standby-levels.js';

/** What features use of a launcher, and where they add themselves. */
export interface Engine {
  readonly context: Context;
  readonly providers: ProviderSet;
  readonly registry: Pick<PoolRegistry, 'announce' | 'candidates' | 'isOwn'> & {
    readonly registered: Pick<PoolRegistry['registered'], 'has'>;
  };
  readonly ledger: Pick<Ledger, 'has'>;
  readonly lost: Pick<LostRequests, 'claim' | 'look' | 'isRecovering'>;
  readonly pools: {
    /** Has the pool serve a lost request with the nodes that it has; what it lacks waits. */
    serve(view: LivePoolView, request: RequestRecord, assignment: Assignment): void;
  };
  readonly views: PoolViews;
  readonly levels: StandbyLevels;
  readonly standby: {
    /** Whether a node of the label is missing that no launcher has requested. */
    isMissing(label: string): boolean;
    /** The number of nodes to keep of the label may be another one. */
    check(label: string): void;
  };
  readonly serverClock: ServerTime & Clock;
  readonly idle: IdleNodes;
  readonly reaper: Pick<Reaper, 'claimUsed' | 'keepUnfinished' | 'look'>;
  readonly images: ImageMirror;
}

/** What a launcher does beside launching, lending and deleting nodes. The rest of the launcher does not know its name. */
export interface Feature extends Part, StandbySource {
  /** Caches of records of its own: read before the launcher registers, and current with each commit of the launcher. */
  readonly caches?: readonly (Part & CommitTarget)[];
  /** What `explain` says about standby nodes of the label. `undefined`: nothing. */
  explain?(label: string): string | undefined;
  /** What `explain` says about a node that is being made. `undefined`: nothing. */
  explainNode?(node: NodeRecord): string | undefined;
  /** What it knows of the health of providers, for the plan, for conditions and for what shows it. At most one feature has this. */
  readonly steering?: Steering;
}

/** Makes a feature, which adds itself to the engine. */
export type MakeFeature = (engine: Engine) => Feature;
