import {
  delay,
  encodeLeaseToken,
  isNodepoolError,
  isZooKeeperError,
  LEASE_TOKENS_ROOT,
  leaseSlotsPath,
  leaseTokenPath,
  newLeaseToken,
  type LeaseRecord,
} from '@nodepool/zk-protocol';
import type { LeaseSpec, Leases, LeaseView } from '@nodepool/core/launcher';
import type { Random } from '@nodepool/core/testing';
import { SimulatedProcess } from '../world/process.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';
import type { SimulatedLauncher } from './launcher.js';

/** Time after which a client stops waiting for an answer. */
const ANSWER_LIMIT_MS = 10_000;
const PAUSE_MS = 500;
/** Share of requests, and of answers, that are lost while there are faults. */
const LOST_SHARE = 0.05;

/** How old an answer may be: the session timeout, and a bit for the network and clocks that differ. */
const MOST_OUTDATED_MS = 15_000;
/** Errors of calls that are refused for good. */
const REFUSALS = ['NODEPOOL_LEASE_LIMIT', 'NODEPOOL_LEASE_AGE', 'NODEPOOL_LEASE_NODES_LOST'];

/** No answer: the client does not know whether its call took effect. */
class Unanswered extends Error {}

/** The lease that a job requests, and what it does with it. */
export interface LeasePlan {
  readonly labels: readonly string[];
  readonly priority: number;
  readonly tenantName: string | null;
  readonly ttlMs: number;
  /** `null`: it waits without a limit. */
  readonly giveUpMs: number | null;
  /** Sends the request to two launchers at the same time. */
  readonly isRepeated: boolean;
  /** When it returns the lease, whether it is active by then or not; `undefined`: it is left to expire. */
  readonly returnAfterMs: number | undefined;
  /** When it renews the lease. */
  readonly renewAfterMs: number | undefined;
}

/**
 * A client of the lease API: it reaches launchers and no ZooKeeper, loses requests and answers, repeats them at other
 * launchers, and may die. Calls what the HTTP server calls.
 */
export class Lessee {
  readonly #world: World;
  readonly #name: string;
  readonly #random: Random;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #maxNodes: number;
  #isCalm = false;
  /** Raised by each death: jobs of an earlier life do nothing any more. */
  #life = 0;
  /** Jobs that have not ended. */
  active = 0;

  /** @param maxNodes - of its token */
  constructor(world: World, name: string, launchers: readonly SimulatedLauncher[], maxNodes: number) {
    this.#world = world;
    this.#name = name;
    this.#random = world.random.fork();
    this.#launchers = launchers;
    this.#maxNodes = maxNodes;
    world.leases.mostNodes.set(name, maxNodes);
  }

  /** An operator makes its token: `nodepool token create`. */
  start(): void {
    const { zk, clock } = new SimulatedProcess(this.#world, `${this.#name}-token`, this.#world.server);
    const rights = { owner: this.#name, labels: ['*'], maxTtlMs: 3_600_000, tenantName: null, highestPriority: 1 };
    const limits = { maxNodes: this.#maxNodes, admin: false, endTimeMs: null };
    const token = newLeaseToken({ name: this.#name, hash: '', ...rights, ...limits }, clock.now());
    const create = async () => {
      await zk.ensurePath(leaseSlotsPath(this.#name));
      await zk.ensurePath(LEASE_TOKENS_ROOT);
      await zk.create(leaseTokenPath(this.#name), encodeLeaseToken(token));
      await zk.close();
    };
    create().catch((error: unknown) =>
      this.#world.violate(new Violation(`${this.#name} has no token: ${String(error)}`)),
    );
  }

  /** Its leases are left to themselves. */
  die(): void {
    this.#world.trace.add(this.#name, 'dies');
    this.#life++;
    this.active = 0;
  }

  /** No more faults: nothing is lost. Leases that wait without a limit are returned, also those of earlier lives. */
  end(): void {
    this.#isCalm = true;
    this.active++;
    const isEndless = ({ owner, state, dueTimeMs }: LeaseRecord) =>
      owner === this.#name && state === 'waiting' && dueTimeMs === null;
    const endAll = async (leases: Leases) => {
      const endless = [...leases.values()].filter(isEndless);
      await Promise.all(endless.map(({ id }) => leases.end(id, 'returned')));
    };
    void delay(this.#world.clock, ANSWER_LIMIT_MS)
      .then(() => this.#repeat(this.#life, endAll))
      .finally(() => this.active--);
  }

  submit(plan: LeasePlan): void {
    const life = this.#life;
    this.active++;
    const run = async () => {
      try {
        await this.#job(plan, life);
      } catch (error) {
        if (life === this.#life) this.#world.violate(new Violation(`${this.#name}: ${String(error)}`));
      }
      if (life === this.#life) this.active--;
    };
    void run();
  }

  async #job(plan: LeasePlan, life: number): Promise<void> {
    const { clock, trace } = this.#world;
    const beganMs = clock.now();
    const spec = this.#specOf(plan);
    const one = this.#repeat(life, (leases) => this.#request(leases, spec));
    const [lease] = await Promise.all([
      one,
      ...(plan.isRepeated ? [this.#repeat(life, (leases) => this.#request(leases, spec))] : []),
    ]);
    if (!lease) return trace.add(this.#name, `may not have lease ${spec.id}`);
    let isRenewed = plan.renewAfterMs === undefined;
    for (;;) {
      const view = await this.#repeat(life, (leases) => this.#look(leases, spec.id));
      if (life !== this.#life) return;
      if (!view) return this.#violate(`lease ${spec.id} is unknown, although it was answered`);
      this.#check(view);
      if (view.lease.state === 'ended' || view.lease.state === 'failed') return;
      const passedMs = clock.now() - beganMs;
      if (passedMs >= (plan.returnAfterMs ?? Infinity) || (this.#isCalm && plan.giveUpMs === null)) {
        await this.#repeat(life, (leases) => leases.end(spec.id, 'returned'));
      } else if (!isRenewed && passedMs >= (plan.renewAfterMs ?? 0)) {
        isRenewed = true;
        await this.#repeat(life, (leases) => leases.renew(spec.id, plan.ttlMs));
      } else await delay(clock, this.#random.exponential(2 * PAUSE_MS));
    }
  }

  #specOf({ labels, priority, tenantName, ttlMs, giveUpMs }: LeasePlan): Omit<LeaseSpec, 'tokenVersion'> {
    const id = this.#random.hex(32);
    return {
      ...{ id, owner: this.#name, token: this.#name, labels, priority, tenantName, ttlMs, giveUpMs },
      ...{ digest: '', reason: '', maxNodes: this.#maxNodes },
    };
  }

  /** What the server does before it requests the lease: it knows the caller by its token. */
  #request(leases: Leases, spec: Omit<LeaseSpec, 'tokenVersion'>): Promise<LeaseRecord> {
    const token = leases.tokens.get(this.#name);
    if (!token) throw new Unanswered('the launcher does not know the token yet');
    return leases.request({ ...spec, tokenVersion: token.stat?.version });
  }

  /** As the server answers: a launcher that starts does not know all leases yet. */
  async #look(leases: Leases, id: string): Promise<LeaseView | undefined> {
    const view = await leases.look(id);
    if (!view && !leases.ready) throw new Unanswered('the launcher is reading the leases');
    return view;
  }

  /** An active lease has all its nodes, unless some were taken from it by an operator or have failed. */
  #check({ lease: { id, state, nodeIds }, nodes }: LeaseView): void {
    const { checker, clock, leases } = this.#world;
    const truth = leases.leases.get(id);
    const overMs = truth?.state === 'ended' || truth?.state === 'failed' ? clock.now() - truth.stateMs : 0;
    if (state === 'active' && overMs > MOST_OUTDATED_MS)
      this.#violate(`lease ${id} is shown as active ${Math.round(overMs)} ms after its end`);
    if (state !== 'active' || leases.leases.get(id)?.state !== 'active' || nodes.length === nodeIds.length) return;
    const shown = new Set(nodes.map((node) => node.id));
    const hidden = nodeIds.find((node) => !shown.has(node) && checker.nodes.get(node)?.state === 'hold');
    if (hidden !== undefined) this.#violate(`lease ${id} is shown without node ${hidden}`);
  }

  #violate(what: string): void {
    this.#world.violate(new Violation(`${this.#name}: ${what}`));
  }

  /** Calls launchers in turn until one answers. @returns `undefined` if the call is refused, or the client has died */
  async #repeat<T>(life: number, act: (leases: Leases) => Promise<T>): Promise<T | undefined> {
    const { clock, trace } = this.#world;
    while (life === this.#life) {
      try {
        return await this.#call(this.#random.pick(this.#launchers), act);
      } catch (error) {
        if (REFUSALS.some((code) => isNodepoolError(error, code))) return undefined;
        const isUnclear = error instanceof Unanswered || isZooKeeperError(error);
        const hasChanged = error instanceof Error && error.name === 'Refusal';
        if (!isUnclear && !hasChanged) throw error;
        trace.add(this.#name, () => `repeats its call: ${String(error)}`);
        await delay(clock, this.#random.exponential(PAUSE_MS));
      }
    }
    return undefined;
  }

  /** One call over the network. */
  #call<T>(launcher: SimulatedLauncher, act: (leases: Leases) => Promise<T>): Promise<T> {
    const { clock } = this.#world;
    const { process, running } = launcher;
    const isLost = () => !this.#isCalm && this.#random.chance(LOST_SHARE);
    const latencyMs = () => this.#random.exponential(3);
    return new Promise<T>((resolve, reject) => {
      const expire = clock.setTimer(ANSWER_LIMIT_MS, () => reject(new Unanswered('no answer')));
      const answer = (reply: () => void) => {
        if (process?.isDead || isLost()) return;
        clock.setTimer(latencyMs(), () => {
          expire();
          reply();
        });
      };
      if (!process || !running) return answer(() => reject(new Unanswered('connection refused')));
      if (isLost()) return;
      process.clock.setTimer(latencyMs(), () => {
        const handle = async () => act(running.leases);
        handle().then(
          (value) => answer(() => resolve(value)),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  }
}
