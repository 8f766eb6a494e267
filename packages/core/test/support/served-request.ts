import {
  decodeRequest,
  encodeRequest,
  newRequest,
  nodeLockPath,
  REQUESTS_ROOT,
  requestLockPath,
  requestPath,
  type NodeId,
  type NodeRecord,
  type RequestFields,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { LaunchOrder, LaunchResult, NodeRequestHandler, QuotaSupport } from '../../src/contract/driver.js';
import type { RequestOutcome } from '../../src/contract/request-outcome.js';
import type { Assignment, AssignmentPart } from '../../src/launcher/plan/types.js';
import { RequestWork } from '../../src/launcher/requests/request.js';
import { serve } from '../../src/launcher/requests/stages.js';
import type { Context } from '../../src/launcher/state/context.js';
import { LauncherRooms, launchingDrivers, standbyConfig } from './launcher-rooms.js';
import { ServiceWorld } from './service-world.js';

/** Decision to launch a node. */
export const LAUNCH = { kind: 'launch' } as const;
/** Decision to wait. */
export const WAIT = { kind: 'wait' } as const;

/** A requested label, and the node or decision for it. */
export type Given = readonly [label: string, given: NodeId | typeof LAUNCH | typeof WAIT];

/** A request processed by pool `main` of provider `p` (labels `a` and `b`), with the driver of a test. */
export class ServedRequest {
  /** Context of the work. */
  context: Context;
  /** Events of launches, in order. */
  readonly launches: string[] = [];
  /** Whether the request waited, each time when that changed. */
  readonly waits: boolean[] = [];
  /** Number of times the quota proved wrong. */
  quotaChecks = 0;
  work!: RequestWork;
  #driver: Partial<NodeRequestHandler> = {};
  #outcome!: Promise<RequestOutcome>;
  #rooms!: LauncherRooms;
  #request!: RequestRecord;

  private constructor(readonly world: ServiceWorld) {
    this.context = world.context;
    const { events } = world.context;
    events.on('launchBegun', ({ launch }) => void this.launches.push(`${launch.label} begun`));
    events.on('launchProgressed', ({ launch, step: { what } }) => {
      if (what !== 'stage') this.launches.push(`${launch.label} ${what === 'failed' ? 'attempt failed' : what}`);
    });
    events.on('launchEnded', ({ launch, state }) => void this.launches.push(`${launch.label} ended: ${state}`));
  }

  /** Stores a request for the labels. */
  static async begin(labels: readonly string[], fields: RequestFields = {}): Promise<ServedRequest> {
    const world = await ServiceWorld.open();
    const served = new ServedRequest(world);
    served.#rooms = await LauncherRooms.open(standbyConfig, served.#drivers(), world);
    served.#rooms.idle.stop(); // what becomes of nodes is up to the request alone
    served.#rooms.registry.begin([]);
    const id = await served.store(newRequest({ labels, requestor: 'zuul', ...fields }, world.clock.now()));
    const request = world.context.mirror.requests.get(id);
    if (!request) throw new Error('the mirror does not show the request');
    served.#request = request;
    return served;
  }

  get rooms(): LauncherRooms {
    return this.#rooms;
  }

  get id() {
    return this.#request.id;
  }

  /** Id of the pool. */
  get launcherId() {
    return this.view.launcherId;
  }

  get view() {
    const [view] = this.rooms.views.all;
    if (!view) throw new Error('there is no pool');
    return view;
  }

  // --- work on the request ----------------------------------------------------------------------------------------

  /** Starts work on the request like the pool: counts its resources and claims its nodes. */
  accept(parts: readonly Given[], driver: Partial<NodeRequestHandler> = {}): void {
    const { view } = this;
    const { registry, unlocks, turns, ledger } = this.rooms;
    this.#driver = driver;
    this.work = new RequestWork(this.context, { view, registry, unlocks, turns, waits: this }, this.#request);
    ledger.begin(
      this.#request,
      this.#request.labels.map((label) => view.needOf(label)),
    );
    this.#outcome = serve(this.work, this.#assign(parts)).finally(() => ledger.end(this.id));
  }

  /** Takes the place of the pools of a launcher. */
  waitChanged(): void {
    this.waits.push(this.work.paused !== undefined);
  }

  /** Gives nodes to a request that waits for capacity. */
  unpause(parts: readonly Given[]): void {
    this.work.unpause(this.#assign(parts));
  }

  #assign(parts: readonly Given[]): Assignment {
    const { mirror } = this.world.context;
    return {
      parts: parts.map(([label, given]): AssignmentPart => {
        if (typeof given === 'object') return { label, source: given };
        const node = mirror.nodes.get(given);
        if (!node || !mirror.claim(node.id, this.work)) throw new Error(`node ${given} is not free`);
        return { label, source: { kind: 'node', node } };
      }),
      complete: parts.every(([, given]) => given !== WAIT),
      az: null,
    };
  }

  /** Result of the work. */
  outcome(): Promise<RequestOutcome> {
    return this.world.clock.run(this.#outcome);
  }

  // --- stored data ------------------------------------------------------------------------------------------------

  /** Stores another request. @returns its id */
  async store(request: ReturnType<typeof newRequest>, priority = 200) {
    const { clock, other } = this.world;
    const body = encodeRequest(request);
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/${priority}-`, body, { sequential: true }));
    await this.world.pass(100);
    return path.slice(REQUESTS_ROOT.length + 1) as RequestRecord['id'];
  }

  /** The request as stored in ZooKeeper. */
  async stored(): Promise<RequestRecord> {
    const { clock, other } = this.world;
    const { data, stat } = await clock.run(other.getData(requestPath(this.id)));
    const request = decodeRequest(this.id, data, stat, clock.now());
    if (!request) throw new Error('the request has no body');
    return request;
  }

  /** Deletes the request like its requestor, and notifies the work. */
  async withdraw(): Promise<void> {
    await this.world.clock.run(this.world.other.delete(requestPath(this.id)));
    this.work.requestGone();
  }

  node(id: NodeId | undefined): NodeRecord | undefined {
    return id === undefined ? undefined : this.world.context.mirror.nodes.get(id);
  }

  nodes(): NodeRecord[] {
    return [...this.world.context.mirror.nodes.values()];
  }

  /** Lock entries of the request. */
  entries(): Promise<string[]> {
    return this.#children(requestLockPath(this.id));
  }

  /** Lock entries of a node. */
  nodeEntries(id: NodeId | undefined): Promise<string[]> {
    return this.#children(nodeLockPath(id ?? ('' as NodeId)));
  }

  #children(path: string): Promise<string[]> {
    return this.world.clock.run(this.world.other.getChildren(path).catch(() => []));
  }

  /** Locks the request as another launcher. @param node - node to lock instead */
  async lockElsewhere(node?: NodeId): Promise<void> {
    const { other, clock } = this.world;
    const lock = node === undefined ? requestLockPath(this.id) : nodeLockPath(node);
    await clock.run(other.ensurePath(lock));
    await clock.run(other.create(`${lock}/0123__lock__`, '', { ephemeral: true, sequential: true }));
  }

  #drivers() {
    const quota: QuotaSupport = {
      quotaNeededByLabel: () => ({ instances: 1, cores: 4, ports: 1 }),
      estimatedNodepoolQuota: () => ({}),
      invalidateQuotaCache: () => void this.quotaChecks++,
    };
    const getRequestHandler = () => ({ imagesAvailable: () => true, ...this.#driver });
    return launchingDrivers({ getRequestHandler, quota }, { pausesAtQuota: true });
  }
}

/** A launch that succeeds. */
export const ready = async (order: LaunchOrder): Promise<LaunchResult> => ({
  state: 'ready',
  node: await order.store({ state: 'ready', externalId: `i-${order.node.id}` }),
});

/** A launch that fails. */
export const failed = ({ node }: LaunchOrder): Promise<LaunchResult> =>
  Promise.resolve({ state: 'failed', node, error: new Error('no host has capacity') });

/** A request for `a` and `b` that has its `a` and waits for capacity. */
export async function pausedRequest(driver: Partial<NodeRequestHandler> = {}) {
  const served = await ServedRequest.begin(['a', 'b']);
  const id = await served.world.createNode({});
  served.accept(
    [
      ['a', id],
      ['b', WAIT],
    ],
    driver,
  );
  await served.world.pass(1_000);
  return { served, id };
}
