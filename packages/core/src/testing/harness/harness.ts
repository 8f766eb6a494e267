import {
  delay,
  systemClock,
  type Json,
  type JsonObject,
  type NodeId,
  type NodeRecord,
  type RequestId,
} from '@nodepool/zk-protocol';
import { InProcessServer, InProcessZooKeeper } from '@nodepool/zk-protocol/in-process';
import { formatProblem } from '../../config/problems.js';
import { textOf } from '../../config/raw-values.js';
import type { Config } from '../../contract/config.js';
import type { Driver } from '../../contract/driver.js';
import { silentLogger, type Logger } from '../../contract/logger.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import type { CloudFailureKind, CloudResource, ContractCloud, DriverContractOptions } from './types.js';
import { RecordHistory } from './record-history.js';
import { TestLauncher } from './launcher.js';
import { loadEntry, toJson } from './load-entry.js';
import { Requestor, REQUESTOR, type HeldNode } from './requestor.js';

/** Six hours: longer than any time limit a configuration is likely to have. */
const LIMIT_MS = 6 * 3_600_000;
const MANY_STEPS = 20_000;
/** Real time that work with files or sockets of this machine may take, and virtual time that passes in each millisecond of it. */
const IO_LIMIT_MS = 30_000;
const IO_STEP_MS = 10;

/** Nodes in use, and where they came from. */
export interface TakenNodes {
  readonly request: RequestId;
  /** The records as they were when the request was fulfilled. */
  readonly nodes: readonly NodeRecord[];
  readonly held: readonly HeldNode[];
}

/** A fake cloud, a ZooKeeper, launchers and a requestor, all on the cloud's clock. */
export class Harness {
  readonly cloud: ContractCloud;
  readonly driver: Driver;
  readonly entry: JsonObject;
  readonly drivers: readonly [Driver, ...Driver[]];
  readonly history = new RecordHistory();
  readonly launchers: TestLauncher[] = [];
  /** Called after each step of time. */
  onStep: () => void | Promise<void> = () => {};
  /** Where launchers made from now on log to. Default: nowhere. */
  logger: Logger = silentLogger;
  /** Other top-level keys. */
  readonly file: JsonObject;
  readonly #server: InProcessServer;
  #requestor: { zk: InProcessZooKeeper; requestor: Requestor } | undefined;
  #ownsCloud = true;
  #config: Promise<Config> | undefined;
  #isClosed = false;
  #seed = 1;

  private constructor(
    cloud: ContractCloud,
    drivers: readonly [Driver, ...Driver[]],
    entry: JsonObject,
    file: JsonObject,
  ) {
    this.cloud = cloud;
    this.driver = drivers[0];
    this.drivers = drivers;
    this.entry = entry;
    this.file = file;
    this.#server = new InProcessServer(cloud.clock, this.history.onTransaction);
  }

  /** A new cloud with nothing in it, and a ZooKeeper with nothing in it. */
  static async open<Cloud extends ContractCloud>(options: DriverContractOptions<Cloud>): Promise<Harness> {
    const cloud = await options.cloud();
    const { driver, validConfig, otherDrivers = [] } = options;
    const entry = typeof validConfig === 'function' ? validConfig(cloud) : validConfig;
    return new Harness(cloud, [driver, ...otherDrivers], toJson(entry), toJson(options.file ?? {}));
  }

  /** Another installation, with a ZooKeeper of its own, in the same cloud. None of its providers has a name of ours. */
  neighbour(name: string): Harness {
    const { providers } = this.file;
    const others = Array.isArray(providers) ? providers.map((entry) => renamed(entry, name)) : [];
    const file = providers === undefined ? this.file : { ...this.file, providers: others };
    const harness = new Harness(this.cloud, this.drivers, { ...structuredClone(this.entry), name }, file);
    harness.#ownsCloud = false;
    return harness;
  }

  /** Reads the entry as a launcher does; fails the test when there is anything wrong with it. */
  config(): Promise<Config> {
    this.#config ??= this.readConfig(this.entry);
    return this.#config;
  }

  /** Reads an entry afresh. */
  async readConfig(entry: JsonObject): Promise<Config> {
    const { config, problems } = await loadEntry(entry, this.drivers, this.file, { clock: this.cloud.clock });
    if (config) return config;
    throw new Error(`validConfig has problems:\n${problems.map(formatProblem).join('\n')}`);
  }

  /** Reads a provider's entry afresh. */
  async readProviderConfig(entry: JsonObject = this.entry): Promise<ProviderConfig> {
    return providerIn(await this.readConfig(entry), textOf(entry['name']) ?? '');
  }

  /** Every label of the driver's pools. */
  async labels(): Promise<readonly [string, ...string[]]> {
    const { pools } = providerIn(await this.config(), textOf(this.entry['name']) ?? '');
    const [first, ...rest] = new Set([...pools.values()].flatMap((pool) => [...pool.labels.keys()]));
    if (first === undefined) throw new Error('validConfig has no label: give its first pool one');
    return [first, ...rest];
  }

  // --- launchers --------------------------------------------------------------------------------------------------

  /** Whether nodes of the driver need nodes of the file's further providers. */
  get buildsOnOthers(): boolean {
    return this.file['providers'] !== undefined;
  }

  /** A launcher that is not started yet. */
  async makeLauncher(): Promise<TestLauncher> {
    const launcher = new TestLauncher({
      server: this.#server,
      worldClock: this.cloud.clock,
      config: await this.config(),
      drivers: this.drivers,
      random: this.#random(),
      logger: this.logger,
    });
    this.launchers.push(launcher);
    return launcher;
  }

  /** A launcher whose provider runs. */
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

  /** Ends a launcher as a signal does: what is under way is finished. */
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

  /** Waits until a request is answered, and returns its nodes. Fails the test when it failed. */
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

  /** Gets nodes and takes them into use. */
  async take(labels: readonly string[]): Promise<TakenNodes> {
    const request = await this.submit(labels);
    const nodes = await this.fulfilled(request);
    const requestor = await this.#getRequestor();
    const ids = nodes.map(({ id }) => id);
    return { request, nodes, held: await this.during(requestor.take(request, ids), 'the nodes are taken into use') };
  }

  /** Gives nodes back after use. */
  async giveBack({ held }: TakenNodes): Promise<void> {
    const requestor = await this.#getRequestor();
    await this.during(requestor.giveBack(held), 'the nodes are given back');
  }

  /** Deletes nodes that nobody uses, as an operator does, until there are none at all. */
  async untilNodesDeleted(limitMs = LIMIT_MS): Promise<void> {
    const requestor = await this.#getRequestor();
    const asked = new Set<NodeId>();
    const deleteFree = () => {
      for (const { id, state, allocatedTo } of this.ownNodes()) {
        if (state !== 'ready' || allocatedTo !== null || asked.has(id)) continue;
        asked.add(id);
        requestor.remove(id).catch(() => asked.delete(id)); // somebody else was quicker: look again
      }
      return this.ownNodes().length === 0;
    };
    await this.until(deleteFree, () => `all nodes are deleted; ${this.describeNodes()}`, limitMs);
  }

  /** Waits until there are no node records of the provider. */
  async untilNoNodes(limitMs = LIMIT_MS): Promise<void> {
    await this.until(
      () => this.ownNodes().length === 0,
      () => `all nodes are deleted; ${this.describeNodes()}`,
      limitMs,
    );
  }

  ownNodes(): NodeRecord[] {
    return [...this.history.nodes.values()].filter(({ provider }) => provider === this.entry['name']);
  }

  /** Requests of the requestor; a driver may make others. */
  ownRequests(): RequestId[] {
    const own = [...this.history.requests.values()].filter(({ requestor }) => requestor === REQUESTOR);
    return own.map(({ id }) => id);
  }

  describeNodes(): string {
    const ids = [...new Set(this.history.nodeHistory.map(({ id }) => id))];
    return `nodes: ${ids.map((id) => `${id} ${this.history.statesOf(id).join('>')}`).join(', ') || 'none'}`;
  }

  // --- the cloud --------------------------------------------------------------------------------------------------

  async list(): Promise<readonly CloudResource[]> {
    return this.cloud.list(this.history.nodes);
  }

  async instances(): Promise<readonly CloudResource[]> {
    return (await this.list()).filter(({ type = 'instance' }) => type === 'instance');
  }

  async countInstances(): Promise<number> {
    return (await this.instances()).length;
  }

  /** Ids of all that exists, whatever its state. */
  async ids(): Promise<string[]> {
    return (await this.list()).map(({ id }) => id);
  }

  /** Fails the test when there are instances that cannot be used. */
  async assertAllReady(): Promise<void> {
    for (const { id, isReady } of await this.instances()) {
      if (!isReady)
        throw new Error(`instance ${id} of a node that is ready cannot be used: it is not complete, or broken`);
    }
  }

  /** Arranges a failure, unless such a cloud has none of the kind. @returns whether it will happen */
  fail(kind: CloudFailureKind, times = 1): boolean {
    if (this.cloud.impossible?.includes(kind)) return false;
    for (let i = 0; i < times; i++) this.cloud.failNext(kind);
    return true;
  }

  /** Whether the driver cannot know that such a failure is what it meets with. */
  isUnseen(kind: CloudFailureKind): boolean {
    return this.cloud.unseen?.includes(kind) ?? false;
  }

  // --- time -------------------------------------------------------------------------------------------------------

  /** Lets time pass until the promise has settled. */
  async during<T>(promise: Promise<T>, what: string, limitMs = LIMIT_MS): Promise<T> {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    await this.until(() => settled, what, limitMs);
    return promise;
  }

  /**
   * Lets time pass until work has ended that waits for files or sockets of this machine as well: those take real time, in which hours of virtual
   * time would go by.
   */
  async duringIo<T>(promise: Promise<T>, what: string): Promise<T> {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    for (const endMs = systemClock.now() + IO_LIMIT_MS; !settled;) {
      if (systemClock.now() > endMs)
        throw new Error(`never came true within ${IO_LIMIT_MS / 1_000} s of real time: ${what}`);
      await this.cloud.advance(IO_STEP_MS);
      await this.onStep();
      await delay(systemClock, 1);
    }
    return promise;
  }

  /** Lets time pass until the condition holds; looks after each step. */
  async until(
    condition: () => boolean | Promise<boolean>,
    what: string | (() => string),
    limitMs = LIMIT_MS,
  ): Promise<void> {
    const startMs = this.cloud.clock.now();
    for (let step = 0; !(await condition()); step++) {
      const passedMs = this.cloud.clock.now() - startMs;
      if (passedMs > limitMs || step > MANY_STEPS) {
        const text = typeof what === 'string' ? what : what();
        throw new Error(`never came true within ${Math.round(passedMs / 1_000)} s: ${text}`);
      }
      await this.cloud.advance(stepMs(step));
      await this.onStep();
    }
  }

  /** Lets so much time pass. */
  async pass(ms: number): Promise<void> {
    await this.cloud.advance(ms);
  }

  /** Ends everything. Never fails: the test has had its say. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const launcher of this.launchers) {
      if (!launcher.isDead) void launcher.launcher.stop();
      launcher.kill();
    }
    this.#requestor?.zk.kill();
    if (this.#ownsCloud) await this.cloud.stop?.();
  }

  #node(id: NodeId): NodeRecord {
    const node = this.history.nodes.get(id);
    if (!node) throw new Error(`the request names node ${id}, which does not exist`);
    return node;
  }

  async #getRequestor(): Promise<Requestor> {
    if (!this.#requestor) {
      const { clock } = this.cloud;
      const zk = new InProcessZooKeeper(this.#server, { clock, random: this.#random() });
      this.#requestor = { zk, requestor: new Requestor(zk, clock) };
      await this.during(zk.whenConnected(), 'the requestor connects');
    }
    return this.#requestor.requestor;
  }

  /** Numbers in [0, 1), the same in every run. */
  #random(): () => number {
    let state = this.#seed++ * 0x9e3779b9;
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 0x1_0000_0000;
    };
  }
}

function renamed(entry: Json, prefix: string): Json {
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return entry;
  return { ...structuredClone(entry), name: `${prefix}-${textOf(entry['name']) ?? ''}` };
}

function providerIn(config: Config, name: string): ProviderConfig {
  const provider = config.providers.get(name);
  if (!provider) throw new Error(`the configuration has no provider "${name}"`);
  return provider;
}

/** First what is due now, then ever larger steps: time limits of hours must not take hours. */
function stepMs(step: number): number {
  if (step < 20) return 0;
  if (step < 70) return 100;
  return step < 200 ? 1_000 : 10_000;
}
