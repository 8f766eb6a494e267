import type { Clock, CommitTarget, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { LabelConfig } from '../../contract/config.js';
import type { Ledger } from '../ledger/ledger.js';
import type { FreeNodesExplanation } from '../plan/explanation.js';
import type { NodeLevel } from '../plan/nodes.js';
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
  /** All features, those that are made later included. */
  readonly features: readonly Feature[];
  /** What keeps free nodes; `undefined`: nothing does. */
  readonly freeNodes: FreeNodes | undefined;
  readonly serverClock: ServerTime & Clock;
  readonly idle: IdleNodes;
  readonly reaper: Pick<Reaper, 'claimUsed' | 'keepUnfinished' | 'look'>;
  readonly images: ImageMirror;
}

/** What a launcher does beside launching, lending and deleting nodes. The rest of the launcher does not know its name. */
export interface Feature extends Part {
  /** Caches of records of its own: read before the launcher registers, and current with each commit of the launcher. */
  readonly caches?: readonly (Part & CommitTarget)[];
  /** How many free nodes to keep of the label. `undefined`: it does not know, and `min-ready` applies. */
  target?(label: LabelConfig): NodeLevel | undefined;
  /** What `explain` says about the free nodes that are kept of the label. `undefined`: nothing. */
  explain?(label: string): string | undefined;
  /** What `explain` says about a node that is being made. `undefined`: nothing. */
  explainNode?(node: NodeRecord): string | undefined;
  /** What it knows of the health of providers, for the plan, for conditions and for what shows it. At most one feature has this. */
  readonly steering?: Steering;
  /** It keeps free nodes. At most one feature has this. */
  readonly freeNodes?: FreeNodes;
}

/** Keeps free nodes of labels. */
export interface FreeNodes {
  /** Number of parked nodes to keep at most: not known where another launcher decides. */
  mostParked(label: string): number;
  /** Whether a node of the label is missing that no launcher has requested. */
  isMissing(label: string): boolean;
  /** The number of nodes to keep of the label may be another one. */
  check(label: string): void;
  /** Why so many nodes of a label are kept. `undefined`: there is nothing to say. */
  explain(label: string): FreeNodesExplanation | undefined;
}

/** Makes a feature, which adds itself to the engine. */
export type MakeFeature = (engine: Engine) => Feature;
