import {
  createCommitter,
  createNodeCache,
  createRequestCache,
  encodeNode,
  newNode,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
  type NodeFields,
  type NodeId,
} from '@nodepool/zk-protocol';
import { InProcessServer, InProcessZooKeeper, type LinkConditions } from '@nodepool/zk-protocol/in-process';
import { LauncherEvents } from '../../src/launcher/events.js';
import type { Services } from '../../src/launcher/mirror/services.js';
import { silentLogger } from '../../src/contract/logger.js';
import { Mirror } from '../../src/launcher/mirror/mirror.js';
import { VirtualClock } from '../../src/testing/virtual-clock.js';

/** A write by its kind and path, e.g. `delete /nodepool/nodes/0000000000`; a sequential one without its number. */
type WriteMatch = (write: string) => boolean;

/** A session whose connection breaks at a chosen write. It lives on. */
class BrittleZooKeeper extends InProcessZooKeeper {
  #lost: WriteMatch | undefined;

  /** The next such write never arrives. */
  loseRequest(match: WriteMatch): void {
    this.#lost = match;
  }

  override multi(operations: Parameters<InProcessZooKeeper['multi']>[0]) {
    const sent = super.multi(operations);
    this.#breakAt(operations.map(({ op, path }) => `${op} ${path}`));
    return sent;
  }

  override delete(path: string, version?: number): Promise<void> {
    const sent = super.delete(path, version);
    this.#breakAt([`delete ${path}`]);
    return sent;
  }

  override setData(path: string, data: Buffer | string, version?: number) {
    const sent = super.setData(path, data, version);
    this.#breakAt([`set ${path}`]);
    return sent;
  }

  #breakAt(writes: readonly string[]): void {
    if (!this.#lost || !writes.some(this.#lost)) return;
    this.#lost = undefined;
    // after it has left, before time moves on and it arrives
    setImmediate(() => this.breakConnection());
  }
}

/** What the parts of a launcher work with: a ZooKeeper on a virtual clock, and a connection that can break at any write. */
export class ServiceWorld {
  readonly clock = new VirtualClock();
  readonly zk: BrittleZooKeeper;
  /** Somebody else. */
  readonly other: InProcessZooKeeper;
  readonly services: Services;
  /** How often the connection has broken. */
  breaks = 0;
  #answerLost: WriteMatch | undefined;
  #cutOffUntilMs = 0;

  private constructor() {
    const { clock } = this;
    const server = new InProcessServer(clock, ({ changes }, sessionId) => {
      if (sessionId !== this.zk.sessionId) return;
      const lost = this.#answerLost;
      if (!lost || !changes.some((item) => 'path' in item && lost(`${item.change} ${item.path}`))) return;
      this.#answerLost = undefined;
      this.zk.breakConnection();
    });
    this.zk = new BrittleZooKeeper(server, {
      clock,
      conditions: { ...SLOW, canConnect: () => clock.now() >= this.#cutOffUntilMs },
      random: () => 0.5,
    });
    this.zk.onState((state) => {
      if (state === 'SUSPENDED') this.breaks++;
    });
    this.other = new InProcessZooKeeper(server, { clock, random: () => 0.5 });
    const common = { zk: this.zk, clock, logger: silentLogger };
    const nodes = createNodeCache(common);
    const requests = createRequestCache(common);
    const mirror = new Mirror(nodes, requests, () => ({}));
    const committer = createCommitter(this.zk, [nodes, requests]);
    const events = new LauncherEvents();
    this.services = { ...common, mirror, committer, events, hostname: 'nl01', random: () => 0.5 };
  }

  static async open(): Promise<ServiceWorld> {
    const world = new ServiceWorld();
    const roots = [NODES_ROOT, REQUESTS_ROOT, REQUEST_LOCKS_ROOT];
    await world.clock.run(Promise.all(roots.map((path) => world.other.ensurePath(path))));
    const { nodes, requests } = world.services.mirror;
    await world.clock.run(Promise.all([nodes.start(), requests.start()]));
    return world;
  }

  /** The next such write takes effect, and its answer is lost. */
  loseAnswer(match: WriteMatch): void {
    this.#answerLost = match;
  }

  /** Ends the session: the connection breaks, and there is no other before it has expired. */
  loseSession(): void {
    this.#cutOffUntilMs = this.clock.now() + LONGER_THAN_A_SESSION_MS;
    this.zk.breakConnection();
  }

  /** Stores a node record, and waits until the mirror shows it. */
  async createNode(fields: NodeFields): Promise<NodeId> {
    const node = newNode({ state: 'ready', labels: ['a'], provider: 'p', pool: 'main', ...fields }, this.clock.now());
    const path = await this.clock.run(this.other.create(`${NODES_ROOT}/`, encodeNode(node), { sequential: true }));
    await this.pass(100);
    return path.slice(NODES_ROOT.length + 1) as NodeId;
  }

  /** Lets time pass in small steps: requests leave once per turn of the event loop. */
  async pass(ms: number): Promise<void> {
    for (let step = 0; step < 50; step++) await this.clock.advance(ms / 50);
  }
}

const LONGER_THAN_A_SESSION_MS = 30_000;

/** What is on its way when the connection breaks is lost. */
const SLOW: Omit<LinkConditions, 'canConnect'> = {
  requestDelayMs: () => 5,
  replyDelayMs: () => 5,
  connectDelayMs: () => 5,
  survivors: () => 0,
  arrange: (names) => names,
};
