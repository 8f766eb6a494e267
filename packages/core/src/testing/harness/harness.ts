import { isIdle, type NodeId, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import type { Driver } from '../../contract/driver.js';
import { silentLogger, type Logger } from '../../contract/logger.js';
import type { CloudFailureKind, ContractCloud, DriverContractOptions } from './types.js';
import { InvariantChecker } from '../invariants/invariant-checker.js';
import { CloudResources } from './cloud-resources.js';
import { ProcessClock } from './process-clock.js';
import { RecordHistory } from './record-history.js';
import { TestLauncher } from './launcher.js';
import { toJson } from './load-entry.js';
import { Requestor, REQUESTOR, type HeldNode } from './requestor.js';
import { TestConfiguration } from './test-configuration.js';
import { LIMIT_MS, TestTime } from './test-time.js';

/** Nodes in use and their request. */
export interface TakenNodes {
  readonly request: RequestId;
  /** Node records at the time of fulfillment. */
  readonly nodes: readonly NodeRecord[];
  readonly held: readonly HeldNode[];
}

/** A fake cloud, a ZooKeeper server, launchers and a requestor on the cloud's clock. */
export class Harness {
  readonly cloud: ContractCloud;
  readonly driver: Driver;
  /** Configuration of the launchers. */
  readonly configuration: TestConfiguration;
  readonly history = new RecordHistory();
  /** Violations of process rules by launchers and driver, as reported by {@link InvariantChecker}. */
  readonly violations: string[];
  /** Resources in the cloud. */
  readonly resources: CloudResources;
  readonly launchers: TestLauncher[] = [];
  /** Logger of launchers created from now on. Default: silent. */
  logger: Logger = silentLogger;
  readonly #checker: InvariantChecker;
  readonly #server: MemoryServer;
  readonly #time: TestTime;
  #requestor: Requestor | undefined;
  readonly #requestorClock: ProcessClock;
  #ownsCloud = true;
  #isClosed = false;
  #seed = 1;

  private constructor(cloud: ContractCloud, configuration: TestConfiguration, violations: string[] = []) {
    this.cloud = cloud;
    this.driver = configuration.drivers[0];
    this.configuration = configuration;
    this.violations = violations;
    this.#checker = new InvariantChecker((violation) => violations.push(violation));
    this.#server = new MemoryServer(cloud.clock, (...change) => {
      this.#checker.onTransaction(...change);
      this.history.onTransaction(...change);
    });
    this.#requestorClock = new ProcessClock(cloud.clock);
    this.#time = new TestTime(cloud);
    this.resources = new CloudResources(cloud, this.history.nodes);
  }

  /** Creates an empty cloud and an empty ZooKeeper server. */
  static async open<Cloud extends ContractCloud>(options: DriverContractOptions<Cloud>): Promise<Harness> {
    const cloud = await options.cloud();
    const { driver, validConfig, otherDrivers = [] } = options;
    const entry = typeof validConfig === 'function' ? validConfig(cloud) : validConfig;
    const drivers: [Driver, ...Driver[]] = [driver, ...otherDrivers];
    return new Harness(cloud, new TestConfiguration(drivers, toJson(entry), toJson(options.file ?? {}), cloud.clock));
  }

  /** Creates another installation in the same cloud with its own ZooKeeper. @param name - name of its provider */
  neighbour(name: string): Harness {
    const harness = new Harness(this.cloud, this.configuration.renamed(name), this.violations);
    harness.#ownsCloud = false;
    return harness;
  }

  // --- launchers --------------------------------------------------------------------------------------------------

  /** Creates a launcher without starting it. */
  async makeLauncher(): Promise<TestLauncher> {
    const launcher = new TestLauncher({
      server: this.#server,
      worldClock: this.cloud.clock,
      config: await this.configuration.read(),
      drivers: this.configuration.drivers,
      random: this.#random(),
      logger: this.logger,
    });
    this.#checker.follow(launcher.zk, `launcher ${this.launchers.push(launcher)}`);
    return launcher;
  }

  /** Starts a launcher and waits until its provider runs. */
  async startLauncher(): Promise<TestLauncher> {
    const launcher = await this.makeLauncher();
    await this.during(launcher.launcher.start(), 'the launcher starts');
    const errors = () => launcher.launcher.providerErrors.map(({ error }) => error);
    await this.until(
      () => errors().length === 0,
      () => `the provider starts: ${errors().join()}`,
      600_000,
    );
    return launcher;
  }

  /** Stops a launcher like a signal does: work in progress finishes. */
  async stopLauncher({ launcher, zk }: TestLauncher, deadlineMs = 600_000): Promise<void> {
    await this.during(launcher.drain(deadlineMs), 'the launcher stops');
    await this.during(launcher.stop(), 'the launcher stops');
    await this.during(zk.close(), 'its session ends');
  }

  // --- requests ---------------------------------------------------------------------------------------------------

  async submit(labels: readonly string[]): Promise<RequestId> {
    const requestor = await this.#getRequestor();
    return this.during(requestor.submit(labels), 'a request is submitted');
  }

  async forget(id: RequestId): Promise<void> {
    const requestor = await this.#getRequestor();
    await this.during(requestor.forget(id), 'a request is withdrawn');
  }

  /** Waits until a request is fulfilled and returns its nodes. Fails the test if the request failed. */
  async fulfilled(id: RequestId): Promise<readonly NodeRecord[]> {
    const stateOf = () => this.history.requests.get(id)?.state;
    const isEnd = () => stateOf() === 'fulfilled' || stateOf() === 'failed';
    await this.until(isEnd, () => `the request is answered; it is ${stateOf()}, ${this.describeNodes()}`);
    const request = this.history.requests.get(id);
    if (request?.state !== 'fulfilled') {
      throw new Error(`the request failed: ${request?.launchError ?? 'no error was given'}; ${this.describeNodes()}`);
    }
    return request.nodeIds.map((node) => this.#node(node));
  }

  /** Requests nodes and marks them as in use. */
  async take(labels: readonly string[]): Promise<TakenNodes> {
    const request = await this.submit(labels);
    const nodes = await this.fulfilled(request);
    const requestor = await this.#getRequestor();
    const ids = nodes.map(({ id }) => id);
    return { request, nodes, held: await this.during(requestor.take(request, ids), 'the nodes are taken into use') };
  }

  /** Returns nodes after use. */
  async giveBack({ held }: TakenNodes): Promise<void> {
    const requestor = await this.#getRequestor();
    await this.during(requestor.giveBack(held), 'the nodes are given back');
  }

  /** Deletes unused nodes, like an operator, until no nodes remain. */
  async untilNodesDeleted(limitMs = LIMIT_MS): Promise<void> {
    const requestor = await this.#getRequestor();
    const asked = new Set<NodeId>();
    const deleteFree = () => {
      for (const node of this.ownNodes()) {
        const { id } = node;
        if (!isIdle(node) || asked.has(id)) continue;
        asked.add(id);
        requestor.remove(id).catch(() => asked.delete(id)); // another process deleted it first: check again
      }
      return this.ownNodes().length === 0;
    };
    await this.until(deleteFree, () => `all nodes are deleted; ${this.describeNodes()}`, limitMs);
  }

  /** Waits until the provider has no node records. */
  async untilNoNodes(limitMs = LIMIT_MS): Promise<void> {
    await this.until(
      () => this.ownNodes().length === 0,
      () => `all nodes are deleted; ${this.describeNodes()}`,
      limitMs,
    );
  }

  ownNodes(): NodeRecord[] {
    return [...this.history.nodes.values()].filter(({ provider }) => provider === this.configuration.providerName);
  }

  /** Requests submitted by the requestor. A driver may submit others. */
  ownRequests(): RequestId[] {
    const own = [...this.history.requests.values()].filter(({ requestor }) => requestor === REQUESTOR);
    return own.map(({ id }) => id);
  }

  describeNodes(): string {
    const ids = [...new Set(this.history.nodeHistory.map(({ id }) => id))];
    return `nodes: ${ids.map((id) => `${id} ${this.history.statesOf(id).join('>')}`).join(', ') || 'none'}`;
  }

  // --- the cloud --------------------------------------------------------------------------------------------------

  /** Arranges a failure unless this cloud does not support it. @returns whether the failure will occur */
  fail(kind: CloudFailureKind, times = 1): boolean {
    if (this.cloud.impossible?.includes(kind)) return false;
    for (let i = 0; i < times; i++) this.cloud.failNext(kind);
    return true;
  }

  /** Whether the driver cannot detect this kind of failure. */
  isUnseen(kind: CloudFailureKind): boolean {
    return this.cloud.unseen?.includes(kind) ?? false;
  }

  // --- time -------------------------------------------------------------------------------------------------------

  /** Called after each time step. */
  set onStep(listener: () => void | Promise<void>) {
    this.#time.onStep = listener;
  }

  /** Advances time until the promise settles. */
  during<T>(promise: Promise<T>, what: string, limitMs = LIMIT_MS): Promise<T> {
    return this.#time.during(promise, what, limitMs);
  }

  /** Like `during`, for work that also waits for local files or sockets. */
  duringIo<T>(promise: Promise<T>, what: string): Promise<T> {
    return this.#time.duringIo(promise, what);
  }

  /** Advances time until the condition holds, checking it after each step. */
  until(condition: () => boolean | Promise<boolean>, what: string | (() => string), limitMs = LIMIT_MS): Promise<void> {
    return this.#time.until(condition, what, limitMs);
  }

  /** Advances time. */
  pass(ms: number): Promise<void> {
    return this.#time.pass(ms);
  }

  /** Stops everything. Never fails, because the test result is already known. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const launcher of this.launchers) {
      if (!launcher.isDead) void launcher.launcher.stop();
      launcher.kill();
    }
    this.#requestorClock.kill();
    if (this.#ownsCloud) await this.cloud.stop?.();
  }

  #node(id: NodeId): NodeRecord {
    const node = this.history.nodes.get(id);
    if (!node) throw new Error(`the request names node ${id}, which does not exist`);
    return node;
  }

  async #getRequestor(): Promise<Requestor> {
    if (!this.#requestor) {
      const [clock, serverClock] = [this.#requestorClock, this.cloud.clock];
      const { zk } = connectInMemory(this.#server, { clock, serverClock, random: this.#random() });
      this.#checker.follow(zk, REQUESTOR);
      this.#requestor = new Requestor(zk, serverClock);
      await this.during(zk.whenConnected(), 'the requestor connects');
    }
    return this.#requestor;
  }

  /** Numbers in [0, 1), identical in every run. */
  #random(): () => number {
    let state = this.#seed++ * 0x9e3779b9;
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 0x1_0000_0000;
    };
  }
}
