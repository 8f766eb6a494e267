import {
  newRequest,
  type NodeRecord,
  type PoolComponentRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { NodeLevel } from './nodes.js';
import { withTimesFromNow } from './texts.js';
import type { Reason, RuleName } from './types.js';

/** What one pool does with a request, and why. */
export interface PoolExplanation {
  readonly provider: string;
  readonly pool: string;
  readonly launcherId: string;
  /** `false`: the pool belongs to another launcher, so only its registry entry and the request are known. */
  readonly own: boolean;
  /** `handling` the pool works on it · `foreign` another launcher decides · the others as in a plan's verdict. */
  readonly action: 'accept' | 'wait' | 'yield' | 'defer' | 'decline' | 'skip' | 'handling' | 'foreign';
  readonly rule: RuleName | undefined;
  readonly text: string;
  /** What would have to change. */
  readonly remedy: string;
  readonly details: Reason['details'];
  /** Number of requests ahead of this one; `undefined` if it is not in the pool's queue. */
  readonly position: number | undefined;
  /** Why the provider cannot have more nodes of the labels at the moment, e.g. a host that does not answer. */
  readonly blockers: readonly string[];
}

/** A node that is being made for a request. */
export interface LaunchExplanation {
  readonly nodeId: string;
  readonly provider: string | null;
  readonly pool: string | null;
  readonly labels: readonly string[];
  readonly state: string;
  /** Time in this state. */
  readonly ageMs: number;
  /** Why the last attempt failed, and when the next one starts; `null` if none has failed. */
  readonly error: string | null;
  /** A note if it is made from a build of an image that is on trial; `null` if not, or not known. */
  readonly trial: string | null;
}

/** What `explain` shows of the free nodes that are kept of a label. */
export interface FreeNodesExplanation extends NodeLevel {
  readonly label: string;
  /** Free nodes. */
  readonly ready: number;
  /** This launcher keeps them. */
  readonly decides: boolean;
}

/** Why a request is where it is. */
export interface RequestExplanation {
  /** `undefined` for a hypothetical request. */
  readonly requestId: string | undefined;
  readonly state: string;
  readonly labels: readonly string[];
  readonly requestor: string | null;
  readonly tenant: string | null;
  readonly nodes: readonly string[];
  /** Since the request was made; `undefined` when unknown. */
  readonly ageMs: number | undefined;
  readonly launchError: string | null;
  readonly pools: readonly PoolExplanation[];
  /** Nodes that are being made for it. */
  readonly launches: readonly LaunchExplanation[];
  /** Free nodes that are kept of the labels of a hypothetical request; missing: there is nothing to say of them. */
  readonly freeNodes?: readonly FreeNodesExplanation[];
}

function explainOwn(pool: PoolExplanation, nowMs: number): PoolExplanation {
  return { ...pool, text: withTimesFromNow(pool.text, nowMs) };
}

/** Explains a pool of another launcher by its registry entry. */
function explainForeign(pool: PoolComponentRecord, request: RequestRecord): PoolExplanation {
  const base = {
    provider: pool.providerName,
    pool: pool.name,
    launcherId: pool.launcherId,
    own: false,
    rule: undefined,
    position: undefined,
    blockers: [],
  };
  const declined = request.declineReasons[pool.launcherId];
  if (request.declinedBy.includes(pool.launcherId)) {
    const text = declined?.text ?? 'it has declined the request';
    return { ...base, action: 'decline', text, remedy: 'another pool, or a new request', details: {} };
  }
  const missing = [...new Set(request.labels)].filter((label) => !pool.supportedLabels.includes(label));
  if (missing.length > 0) {
    const text = `it lacks ${missing.map((label) => `"${label}"`).join(', ')}`;
    return { ...base, action: 'defer', text, remedy: 'nothing: it is not for this pool', details: { missing } };
  }
  const text = pool.paused ? 'it could serve the request, but is paused' : 'it could serve the request';
  return { ...base, action: 'foreign', text, remedy: 'ask its launcher', details: { paused: pool.paused } };
}

/** A request by id, or the labels of a hypothetical request. */
export type ExplainSubject = { readonly requestId: string } | { readonly labels: readonly string[] };

/** The sources of an explanation. */
export interface ExplainSources {
  readonly requests: { get(id: string): RequestRecord | undefined };
  readonly workers: readonly { readonly launcherId: string; explain(request: RequestRecord): PoolExplanation }[];
  /** Registered pools of all launchers. */
  readonly registered: readonly PoolComponentRecord[];
  /** Nodes allocated to a request. */
  nodesOf(requestId: string): readonly NodeRecord[];
  /** A note on the trial of a node's image. Optional; omit if images are not known. */
  readonly trialOf?: (node: NodeRecord) => string | undefined;
  /** The free nodes that are kept of a label. Optional; omit where none are kept. */
  readonly freeNodesOf?: (label: string) => FreeNodesExplanation | undefined;
  readonly nowMs: number;
}

const NODE_STATES_BEFORE_READY: ReadonlySet<string> = new Set(['init', 'building', 'failed', 'aborted']);

function isBeingMade({ state }: NodeRecord): boolean {
  return NODE_STATES_BEFORE_READY.has(state);
}

function explainLaunch(node: NodeRecord, { nowMs, trialOf }: ExplainSources): LaunchExplanation {
  const { id, provider, pool, labels, state, launchError } = node;
  const error = launchError === null ? null : withTimesFromNow(launchError, nowMs);
  const trial = trialOf?.(node) ?? null;
  return { nodeId: id, provider, pool, labels, state, ageMs: nowMs - node.stateTimeMs, error, trial };
}

function freeNodesOfLabels(labels: readonly string[], { freeNodesOf }: ExplainSources): FreeNodesExplanation[] {
  return [...new Set(labels)].flatMap((label) => freeNodesOf?.(label) ?? []);
}

/** Sorts after every real request of Zuul's ordinary priority. */
const HYPOTHETICAL_ID = '200-9999999999' as RequestId;

/**
 * Explains a request by the plans of the workers' pools and the registry entries of other pools.
 * @returns `undefined` for an unknown request id
 */
export function explainRequest(subject: ExplainSubject, sources: ExplainSources): RequestExplanation | undefined {
  const { requests, workers, registered, nowMs } = sources;
  const hypothetical = 'labels' in subject;
  const request = hypothetical
    ? { ...newRequest({ labels: subject.labels }, nowMs), id: HYPOTHETICAL_ID }
    : requests.get(subject.requestId);
  if (!request) return undefined;
  const own = new Set(workers.map((worker) => worker.launcherId));
  const foreign = registered.filter((pool) => !own.has(pool.launcherId));
  const freeNodes = hypothetical ? freeNodesOfLabels(request.labels, sources) : [];
  return {
    requestId: hypothetical ? undefined : request.id,
    state: hypothetical ? 'not submitted' : request.state,
    labels: request.labels,
    requestor: request.requestor,
    tenant: request.tenantName,
    nodes: request.nodeIds,
    ageMs: hypothetical ? undefined : nowMs - (request.createdTimeMs ?? request.stat?.ctime ?? nowMs),
    launchError: request.launchError,
    pools: [
      ...workers.map((worker) => explainOwn(worker.explain(request), nowMs)),
      ...foreign.map((pool) => explainForeign(pool, request)),
    ],
    launches: hypothetical
      ? []
      : sources
          .nodesOf(request.id)
          .filter(isBeingMade)
          .map((node) => explainLaunch(node, sources)),
    ...(freeNodes.length > 0 && { freeNodes }),
  };
}
