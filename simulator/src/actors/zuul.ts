import {
  decodeRequest,
  delay,
  encodeRequest,
  isZooKeeperError,
  newRequest,
  RecordError,
  requestCreatePath,
  requestLockPath,
  requestPath,
  REQUESTS_ROOT,
  withRequest,
  ZkLock,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { Violation } from '../world/violation.js';
import { SimulatedProcess } from '../world/process.js';
import type { Random } from '@nodepool/core/testing';
import type { World } from '../world/world.js';
import { ZuulNodes, type NodeUse } from './zuul-nodes.js';

const LEAK_CHECK_MS = 30_000;
/** Mean interval of polling, in case a watch event is lost. */
const LOOK_AGAIN_MS = 60_000;

/** Requests and behaviour of one job. */
export interface JobPlan extends NodeUse {
  readonly labels: readonly string[];
  readonly priority: number;
  readonly relativePriority: number;
  readonly provider: string | null;
  readonly tenantName: string | null;
  readonly cancelAfterMs: number | undefined;
  readonly reviseAfterMs: number | undefined;
}

/** Outcome of a request. */
export interface Answer {
  /** `false` if the request failed. */
  readonly isFulfilled: boolean;
  readonly waitedMs: number;
}

/** Requests, uses and returns nodes as Zuul does. Can crash and restart without memory. */
export class ZuulClient {
  readonly #world: World;
  readonly #name: string;
  readonly #random: Random;
  #process: SimulatedProcess | undefined;
  readonly #known = new Set<string>();
  /** Jobs that have not ended. */
  active = 0;
  done = 0;
  fulfilled = 0;
  failed = 0;
  /** Called with each outcome. */
  onAnswer: ((answer: Answer) => void) | undefined;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
    this.#random = world.random.fork();
  }

  get process(): SimulatedProcess | undefined {
    return this.#process;
  }

  start(): void {
    if (this.#process) return;
    const process = new SimulatedProcess(this.#world, this.#name, this.#world.server);
    this.#process = process;
    void this.#deleteLeaked(process);
  }

  /** Its locks expire with its session; the next start deletes its requests. */
  crash(): void {
    if (!this.#process) return;
    this.#world.trace.add(this.#name, 'crashes');
    this.#process.kill();
    this.#process = undefined;
    this.#known.clear();
    this.active = 0;
  }

  /** Starts a job. */
  submit(plan: JobPlan): void {
    const process = this.#process;
    if (!process) return;
    this.active++;
    this.#job(process, plan)
      .catch((error: unknown) => {
        if (!isZooKeeperError(error)) this.#world.violate(new Violation(`${this.#name}: ${String(error)}`));
        this.#world.trace.add(this.#name, () => `a job failed: ${String(error)}`);
      })
      .finally(() => {
        this.active--;
        this.done++;
      });
  }

  async #job(process: SimulatedProcess, plan: JobPlan): Promise<void> {
    const { zk, clock } = process;
    await zk.whenConnected();
    await zk.ensurePath(REQUESTS_ROOT);
    const { labels, provider, tenantName, relativePriority } = plan;
    const fields = {
      labels,
      provider,
      tenantName,
      relativePriority,
      requestor: this.#name,
      createdTimeMs: clock.now(),
    };
    const body = encodeRequest(newRequest(fields, clock.now()));
    const path = await zk.create(requestCreatePath(plan.priority), body, { sequential: true });
    const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
    this.#known.add(id);
    try {
      const askedMs = clock.now();
      const request = await this.#wait(process, id, plan);
      if (request) this.onAnswer?.({ isFulfilled: request.state === 'fulfilled', waitedMs: clock.now() - askedMs });
      if (request?.state !== 'fulfilled') {
        if (request?.state === 'failed') this.failed++;
        return;
      }
      this.fulfilled++;
      const nodes = new ZuulNodes(process, this.#name, this.#world.trace);
      const held = await nodes.accept(request);
      await this.#deleteRequest(process, id);
      if (held) await nodes.use(held, plan);
    } finally {
      await this.#deleteRequest(process, id);
      this.#known.delete(id);
    }
  }

  /** @returns the request in its final state; `undefined` when it was cancelled or is gone */
  async #wait(process: SimulatedProcess, id: RequestId, plan: JobPlan): Promise<RequestRecord | undefined> {
    const { clock } = process;
    const beganMs = clock.now();
    let isRevised = plan.reviseAfterMs === undefined;
    for (;;) {
      const request = await this.#readRequest(process, id);
      if (request === undefined || request.state === 'fulfilled' || request.state === 'failed') return request;
      const waitedMs = clock.now() - beganMs;
      if (plan.cancelAfterMs !== undefined && waitedMs > plan.cancelAfterMs) return undefined;
      if (!isRevised && waitedMs > (plan.reviseAfterMs ?? 0)) {
        isRevised = true;
        await this.#revise(process, request);
      }
      const { cancelAfterMs = Infinity, reviseAfterMs = Infinity } = plan;
      const nextMs = Math.min(cancelAfterMs, isRevised ? Infinity : reviseAfterMs) - waitedMs;
      await this.#change(process, request, Math.min(nextMs + 1, this.#random.exponential(LOOK_AGAIN_MS)));
    }
  }

  /** Waits until the request changes, for at most `ms`. */
  #change(process: SimulatedProcess, { id, stat }: RequestRecord, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = process.clock.setTimer(ms, resolve);
      const changed = () => {
        cancel();
        resolve();
      };
      process.zk
        .exists(requestPath(id), changed)
        .then((now) => {
          if (now?.version !== stat?.version) changed();
        })
        .catch(changed);
    });
  }

  async #revise(process: SimulatedProcess, request: RequestRecord): Promise<void> {
    const { zk, clock } = process;
    const lock = new ZkLock(zk, requestLockPath(request.id), { clock });
    try {
      if (!(await lock.acquire({ blocking: false }))) return;
      const current = await this.#readRequest(process, request.id);
      if (current?.state !== 'requested' || !lock.held) return;
      const next = withRequest(current, { relativePriority: this.#random.int(0, 5) }, clock.now());
      await zk.setData(requestPath(request.id), encodeRequest(next), current.stat?.version);
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
    } finally {
      await lock.release();
    }
  }

  /** @returns `undefined`: it is gone, or another one has its number since the database was lost */
  async #readRequest(process: SimulatedProcess, id: RequestId): Promise<RequestRecord | undefined> {
    for (;;) {
      try {
        const { data, stat } = await process.zk.getData(requestPath(id));
        const request = decodeRequest(id, data, stat, process.clock.now());
        return request?.requestor === this.#name ? request : undefined;
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_CLOSED')) return undefined;
        if (!isZooKeeperError(error) && !(error instanceof RecordError)) throw error;
        await delay(process.clock, 100);
      }
    }
  }

  async #deleteRequest(process: SimulatedProcess, id: RequestId): Promise<void> {
    for (;;) {
      try {
        if (this.#world.replacements > 0 && !(await this.#readRequest(process, id))) return;
        await process.zk.delete(requestPath(id));
        return;
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_CLOSED')) return;
        await delay(process.clock, 100);
      }
    }
  }

  /** Deletes own requests without a job: unacknowledged creations, or requests from before a crash. */
  async #deleteLeaked(process: SimulatedProcess): Promise<void> {
    for (;;) {
      try {
        await process.zk.whenConnected();
        const ids = await process.zk.getChildren(REQUESTS_ROOT);
        for (const id of ids as RequestId[]) {
          if (this.#known.has(id)) continue;
          const { data, stat } = await process.zk.getData(requestPath(id));
          const request = decodeRequest(id, data, stat, process.clock.now());
          const isOld = process.clock.now() - (request?.createdTimeMs ?? 0) > LEAK_CHECK_MS;
          if (request?.requestor === this.#name && isOld && !this.#known.has(id))
            await this.#deleteRequest(process, id);
        }
      } catch (error) {
        if (!isZooKeeperError(error) && !(error instanceof RecordError)) throw error;
      }
      await delay(process.clock, LEAK_CHECK_MS);
    }
  }
}
