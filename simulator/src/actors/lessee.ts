import {
  delay,
  encodeLeaseToken,
  isNodepoolError,
  isZooKeeperError,
  LEASE_TOKENS_ROOT,
  leaseSlotsPath,
  leaseTokenPath,
  newLeaseToken,
  nodePath,
  type LeaseRecord,
  type NodeId,
} from '@nodepool/zk-protocol';
import type { LeaseSpec, Leases, LeaseView } from '@nodepool/core/launcher';
import type { Random } from '@nodepool/core/testing';
import { SimulatedProcess } from '../world/process.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';
import type { SimulatedLauncher } from './launcher.js';
import { ANSWER_LIMIT_MS, callLauncher, Unanswered } from './lessee-call.js';

const PAUSE_MS = 500;
/** Share of requests, and of answers, that are lost while there are faults. */
const LOST_SHARE = 0.05;

/** How old an answer may be: the session timeout, and a bit for the network and clocks that differ. */
const MOST_OUTDATED_MS = 15_000;
/** Errors of calls that are refused for good. */
const REFUSALS = ['NODEPOOL_LEASE_LIMIT', 'NODEPOOL_LEASE_AGE', 'NODEPOOL_LEASE_NODES_LOST'];

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
  /** Once active, it is renewed to be due at this moment, and perhaps again at about that moment. */
  readonly due?: { readonly atMs: number; readonly renewedAtMs: number | undefined };
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
    const create = async (): Promise<void> => {
      try {
        await zk.whenConnected();
        await zk.ensurePath(leaseSlotsPath(this.#name));
        await zk.ensurePath(LEASE_TOKENS_ROOT);
        await zk.create(leaseTokenPath(this.#name), encodeLeaseToken(token));
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) return create();
        if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
      }
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

  /** Requests a lease under the id of one whose record cannot be read. */
  repeatUnreadable(id: string): void {
    const { trace } = this.#world;
    const plan = { labels: ['small'], priority: 100, tenantName: null, ttlMs: 1_000, giveUpMs: 1_000 };
    const spec = {
      ...this.#specOf({ ...plan, isRepeated: false, returnAfterMs: undefined, renewAfterMs: undefined }),
      id,
    };
    this.#call(this.#random.pick(this.#launchers), (leases) => this.#request(leases, spec)).catch((error: unknown) =>
      trace.add(this.#name, () => `cannot have lease ${id}: ${String(error)}`),
    );
  }

  /** Asks one launcher about one of its leases, and checks the answer. */
  ask(launcher: SimulatedLauncher): void {
    const own = [...this.#world.leases.leases.values()].filter(({ token }) => token === this.#name);
    if (own.length === 0) return;
    const { id } = this.#random.pick(own);
    const life = this.#life;
    this.#call(launcher, (leases) => this.#look(leases, id)).then(
      (view) => view && life === this.#life && this.#check(view),
      (error: unknown) => this.#world.trace.add(this.#name, () => `learns nothing of ${id}: ${String(error)}`),
    );
  }

  async #job(plan: LeasePlan, life: number): Promise<void> {
    const { clock, trace } = this.#world;
    const beganMs = clock.now();
    const { replacements } = this.#world;
    const spec = this.#specOf(plan);
    const one = this.#repeat(life, (leases) => this.#request(leases, spec));
    const [lease] = await Promise.all([
      one,
      ...(plan.isRepeated ? [this.#repeat(life, (leases) => this.#request(leases, spec))] : []),
    ]);
    if (!lease) return trace.add(this.#name, `may not have lease ${spec.id}`);
    const renewals = renewalsOf(plan, beganMs);
    for (;;) {
      const view = await this.#repeat(life, (leases) => this.#look(leases, spec.id));
      if (life !== this.#life) return;
      if (!view && replacements !== this.#world.replacements) return; // another database knows nothing of it
      if (!view) return this.#violate(`lease ${spec.id} is unknown, although it was answered`);
      this.#check(view);
      if (view.lease.state === 'ended' || view.lease.state === 'failed') return;
      const passedMs = clock.now() - beganMs;
      if (passedMs >= (plan.returnAfterMs ?? Infinity) || (this.#isCalm && plan.giveUpMs === null)) {
        await this.#repeat(life, (leases) => leases.end(spec.id, 'returned'));
      } else if (renewals[0] && clock.now() >= renewals[0].atMs && (!plan.due || view.lease.state === 'active')) {
        const { untilMs } = renewals.shift() ?? {};
        const ttlMs = untilMs === undefined ? plan.ttlMs : Math.max(1, untilMs - clock.now());
        await this.#repeat(life, (leases) => leases.renew(spec.id, ttlMs));
      } else {
        const untilNextMs =
          plan.due && view.lease.state === 'active' ? (renewals[0]?.atMs ?? Infinity) - clock.now() : Infinity;
        await delay(clock, Math.min(this.#random.exponential(2 * PAUSE_MS), untilNextMs));
      }
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
    const { checker, clock, leases, spoiled } = this.#world;
    const truth = leases.leases.get(id);
    const overMs = truth?.state === 'ended' || truth?.state === 'failed' ? clock.now() - truth.sinceMs : 0;
    if (state === 'active' && overMs > MOST_OUTDATED_MS)
      this.#violate(`lease ${id} is shown as active ${Math.round(overMs)} ms after its end`);
    if (state !== 'active' || leases.leases.get(id)?.state !== 'active' || nodes.length === nodeIds.length) return;
    const shown = new Set(nodes.map((node) => node.id));
    const isHidden = (node: NodeId) => !shown.has(node) && checker.nodes.get(node)?.state === 'hold';
    const hidden = nodeIds.find((node) => isHidden(node) && !spoiled.has(nodePath(node)));
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
        const isUnreadable = isNodepoolError(error, 'NODEPOOL_LEASE_UNREADABLE');
        const isUnclear = isUnreadable || error instanceof Unanswered || isZooKeeperError(error);
        const hasChanged = error instanceof Error && error.name === 'Refusal';
        if (!isUnclear && !hasChanged) throw error;
        trace.add(this.#name, () => `repeats its call: ${String(error)}`);
        await delay(clock, this.#random.exponential(PAUSE_MS));
      }
    }
    return undefined;
  }

  #call<T>(launcher: SimulatedLauncher, act: (leases: Leases) => Promise<T>): Promise<T> {
    const lostShare = !this.#isCalm && this.#world.drawn.has('lessees') ? LOST_SHARE : 0;
    return callLauncher(this.#world.clock, this.#random, launcher, lostShare, act);
  }
}

/** When a lease is renewed, and until when. */
function renewalsOf({ renewAfterMs, due }: LeasePlan, beganMs: number): { atMs: number; untilMs?: number }[] {
  if (!due) return renewAfterMs === undefined ? [] : [{ atMs: beganMs + renewAfterMs }];
  const { atMs, renewedAtMs } = due;
  return [{ atMs: 0, untilMs: atMs }, ...(renewedAtMs === undefined ? [] : [{ atMs: renewedAtMs }])];
}
