import {
  createCommitter,
  createControlCache,
  createNodeCache,
  createRequestCache,
  encodeNode,
  newNode,
  newLockEntryPrefix,
  nodeLockPath,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
  type NodeFields,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer, type LinkConditions, type MemoryLink } from '@nodepool/zk-protocol/memory';
import type { Context } from '../../src/launcher/state/context.js';
import { LauncherEvents } from '../../src/launcher/state/events.js';
import { ControlMirror } from '../../src/launcher/state/controls.js';
import { LifeCycle } from '../../src/launcher/state/life-cycle.js';
import { rackConfig } from './rack-world.js';
import { silentLogger } from '../../src/contract/logger.js';
import { Mirror } from '../../src/launcher/state/mirror.js';
import { VirtualClock } from '../../src/testing/virtual-clock.js';

/** Matches a write by kind and path, e.g. `delete /nodepool/nodes/0000000000`. Sequential paths have no number. */
type WriteMatch = (write: string) => boolean;

/** Environment of a launcher's parts: ZooKeeper on a virtual clock, with a connection that can break at any write. */
export class ServiceWorld {
  readonly clock = new VirtualClock();
  readonly zk: ZooKeeper;
  readonly link: MemoryLink;
  /** Session of another client. */
  readonly other: ZooKeeper;
  readonly context: Context;
  /** Number of connection losses. */
  breaks = 0;
  /** Changes of each transaction of this session, such as `delete /nodepool/nodes/0000000001`. */
  readonly written: string[][] = [];
  #requestLost: WriteMatch | undefined;
  #answerLost: WriteMatch | undefined;
  #cutOffUntilMs = 0;

  private constructor() {
    const { clock } = this;
    const server = new MemoryServer(clock, ({ changes }, sessionId) => {
      if (sessionId !== this.zk.sessionId) return;
      const written = changes.flatMap((item) => ('path' in item ? [`${item.change} ${item.path}`] : []));
      this.written.push(written);
      if (!this.#answerLost || !written.some(this.#answerLost)) return;
      this.#answerLost = undefined;
      this.link.break();
    });
    const conditions = { ...SLOW, canConnect: () => clock.now() >= this.#cutOffUntilMs };
    const { zk, link } = connectInMemory(server, { clock, conditions, random: () => 0.5 });
    this.zk = this.#brittle(zk);
    this.link = link;
    this.zk.onState((state) => {
      if (state === 'SUSPENDED') this.breaks++;
    });
    this.other = connectInMemory(server, { clock, random: () => 0.5 }).zk;
    const common = { zk: this.zk, clock, logger: silentLogger };
    const nodes = createNodeCache(common);
    const requests = createRequestCache(common);
    const events = new LauncherEvents();
    const mirror = new Mirror(nodes, requests, events);
    const committer = createCommitter(this.zk, [nodes, requests]);
    const life = new LifeCycle(this.zk, [nodes, requests], clock);
    life.isStarted = true;
    this.context = {
      ...{ ...common, mirror, committer, life, hostname: 'nl01', version: '1', random: () => 0.5 },
      controls: new ControlMirror(createControlCache(common), { clock, events }),
      config: { now: rackConfig },
      events,
    };
  }

  static async open(): Promise<ServiceWorld> {
    const world = new ServiceWorld();
    const roots = [NODES_ROOT, REQUESTS_ROOT, REQUEST_LOCKS_ROOT];
    await world.clock.run(Promise.all(roots.map((path) => world.other.ensurePath(path))));
    const { nodes, requests } = world.context.mirror;
    await world.clock.run(Promise.all([nodes.start(), requests.start()]));
    return world;
  }

  /** Drops the next matching write. */
  loseRequest(match: WriteMatch): void {
    this.#requestLost = match;
  }

  /** Drops the answer to the next matching write, which takes effect. */
  loseAnswer(match: WriteMatch): void {
    this.#answerLost = match;
  }

  /** Ends the session: breaks the connection, and prevents another until the session has expired. */
  loseSession(): void {
    this.#cutOffUntilMs = this.clock.now() + LONGER_THAN_A_SESSION_MS;
    this.link.break();
  }

  /** Stores a node record and waits until it is in the mirror. */
  async createNode(fields: NodeFields): Promise<NodeId> {
    const node = newNode({ state: 'ready', labels: ['a'], provider: 'p', pool: 'main', ...fields }, this.clock.now());
    const path = await this.clock.run(this.other.create(`${NODES_ROOT}/`, encodeNode(node), { sequential: true }));
    await this.pass(100);
    return path.slice(NODES_ROOT.length + 1) as NodeId;
  }

  /** Another process enters the queue for the lock of the node. @returns its entry */
  async queueForLock(id: NodeId): Promise<string> {
    await this.other.ensurePath(nodeLockPath(id));
    const entry = `${nodeLockPath(id)}/${newLockEntryPrefix()}`;
    return this.other.create(entry, '', { ephemeral: true, sequential: true });
  }

  /** The context of one whose next transaction arrives just after another process has locked the node. */
  lockedMeanwhile(id: NodeId): Context {
    const { committer } = this.context;
    let locked: Promise<string> | undefined;
    const commit: typeof committer.commit = async (operations) => {
      await (locked ??= this.queueForLock(id));
      return committer.commit(operations);
    };
    return { ...this.context, committer: { commit } };
  }

  /** Makes the connection of this session break at selected writes. */
  #brittle(zk: ZooKeeper): ZooKeeper {
    const [multi, remove, setData] = [zk.multi.bind(zk), zk.delete.bind(zk), zk.setData.bind(zk)];
    return Object.assign(zk, {
      multi: (operations: Parameters<ZooKeeper['multi']>[0]) => {
        const sent = multi(operations);
        this.#breakAt(operations.map(({ op, path }) => `${op} ${path}`));
        return sent;
      },
      delete: (path: string, version?: number) => {
        const sent = remove(path, version);
        this.#breakAt([`delete ${path}`]);
        return sent;
      },
      setData: (path: string, data: Buffer | string, version?: number) => {
        const sent = setData(path, data, version);
        this.#breakAt([`set ${path}`]);
        return sent;
      },
    });
  }

  #breakAt(writes: readonly string[]): void {
    if (!this.#requestLost || !writes.some(this.#requestLost)) return;
    this.#requestLost = undefined;
    // after the write is sent, but before it arrives
    setImmediate(() => this.link.break());
  }

  /** Advances time in small steps, because requests leave once per event loop turn. */
  async pass(ms: number): Promise<void> {
    for (let step = 0; step < 50; step++) await this.clock.advance(ms / 50);
  }
}

const LONGER_THAN_A_SESSION_MS = 30_000;

/** A slow link, so that messages in transit are lost when the connection breaks. */
const SLOW: Omit<LinkConditions, 'canConnect'> = {
  requestDelayMs: () => 5,
  replyDelayMs: () => 5,
  connectDelayMs: () => 5,
  survivors: () => 0,
};
