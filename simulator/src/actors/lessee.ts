import { createHash } from 'node:crypto';
import {
  delay,
  encodeLeaseToken,
  isZooKeeperError,
  LEASE_TOKENS_ROOT,
  leasePath,
  leaseSlotsPath,
  leaseTokenPath,
  newLeaseToken,
  nodePath,
  signLeaseToken,
  type NodeId,
} from '@nodepool/zk-protocol';
import type { Random } from '@nodepool/core/testing';
import { ApiError } from '@nodepool/daemon';
import { leaseId } from '@nodepool/launcher';
import { TOKEN_KEY } from '../fleets/config.js';
import { SimulatedProcess } from '../world/process.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';
import type { SimulatedLauncher } from './launcher.js';
import type { LeaseApi, LeaseAnswer } from './lease-api.js';
import { ANSWER_LIMIT_MS, callLauncher, Unanswered } from './lessee-call.js';

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** Share of requests, and of answers, that are lost while there are faults. */
const LOST_SHARE = 0.05;

/** How old an answer may be: the session timeout, and a bit for the network and clocks that differ. */
const MOST_OUTDATED_MS = 15_000;
/** By then each launcher knows a token, also one that was cut off. */
const TOKEN_KNOWN_MS = 90_000;
/** The states of a lease that can only follow others; the last ones are `ended` and `failed`. */
const ORDER: readonly string[] = ['waiting', 'active'];
/** A lease that waits for longer was requested without a limit. */
const ENDLESS_S = 3_600;

/** The lease that a job requests, and what it does with it. */
export interface LeasePlan {
  readonly labels: readonly string[];
  readonly priority: number;
  readonly ttlMs: number;
  /** `null`: it waits for as long as the API lets it. */
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
 * launchers, and may die. Calls what the HTTP server calls, with its token.
 */
export class Lessee {
  readonly #world: World;
  readonly #name: string;
  readonly #random: Random;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #rights: { readonly maxNodes: number; readonly tenantName: string | null };
  readonly #secret: string;
  #tokenMs = Infinity;
  #isCalm = false;
  /** Raised by each death: jobs of an earlier life do nothing any more. */
  #life = 0;
  /** Jobs that have not ended. */
  active = 0;

  /**
   * @param maxNodes - of its token
   * @param tenantName - of its token
   */
  constructor(
    world: World,
    name: string,
    launchers: readonly SimulatedLauncher[],
    maxNodes: number,
    tenantName: string | null = null,
  ) {
    this.#world = world;
    this.#name = name;
    this.#random = world.random.fork();
    this.#launchers = launchers;
    this.#rights = { maxNodes, tenantName };
    this.#secret = this.#random.hex(32);
    world.leases.mostNodes.set(name, maxNodes);
  }

  /** An operator makes its token: `nodepool token create`. */
  start(): void {
    const { zk, clock } = new SimulatedProcess(this.#world, `${this.#name}-token`, this.#world.server);
    const rights = { ...this.#rights, owner: this.#name, labels: ['*'], maxTtlMs: 3_600_000, highestPriority: 1 };
    const token = newLeaseToken(
      { ...rights, name: this.#name, hash: this.#hash, admin: false, endTimeMs: null },
      clock.now(),
    );
    const create = async (): Promise<void> => {
      try {
        await zk.whenConnected();
        await zk.ensurePath(leaseSlotsPath(this.#name));
        await zk.ensurePath(LEASE_TOKENS_ROOT);
        await zk.create(leaseTokenPath(this.#name), encodeLeaseToken(signLeaseToken(token, TOKEN_KEY)));
        this.#tokenMs = this.#world.elapsedMs;
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
    const endAll = async (api: LeaseApi) => {
      const waiting = await api.list(this.#token, 'waiting');
      const endless = waiting.filter(({ gives_up: end, created_time: began }) => (end ?? Infinity) - began > ENDLESS_S);
      await Promise.all(endless.map(({ id }) => api.end(this.#token, id)));
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
  repeatUnreadable(key: string): void {
    const plan = { labels: ['small'], priority: 100, ttlMs: 1_000, giveUpMs: 1_000 };
    this.#call(this.#random.pick(this.#launchers), (api) => api.create(this.#token, key, bodyOf(plan))).catch(
      (error: unknown) =>
        this.#world.trace.add(this.#name, () => `cannot have lease ${this.leaseIdOf(key)}: ${String(error)}`),
    );
  }

  /** The id of the lease that is requested with this `Idempotency-Key`. */
  leaseIdOf(key: string): string {
    return leaseId({ owner: this.#name, identity: this.#hash }, key);
  }

  get #token(): string {
    return `${this.#name}.${this.#secret}`;
  }

  /** What is stored of the token. */
  get #hash(): string {
    return createHash('sha256').update(this.#secret).digest('hex');
  }

  /** Asks one launcher about one of its leases, and checks the answer. */
  ask(launcher: SimulatedLauncher): void {
    const own = [...this.#world.leases.leases.values()].filter(({ token }) => token === this.#name);
    if (own.length === 0) return;
    const { id } = this.#random.pick(own);
    const life = this.#life;
    this.#call(launcher, (api) => this.#get(api, id)).then(
      (answer) => life === this.#life && this.#check(answer),
      (error: unknown) => this.#world.trace.add(this.#name, () => `learns nothing of ${id}: ${String(error)}`),
    );
  }

  async #job(plan: LeasePlan, life: number): Promise<void> {
    const { clock, trace } = this.#world;
    const beganMs = clock.now();
    const { replacements } = this.#world;
    const key = this.#random.hex(32);
    const create = () => this.#repeat(life, (api) => api.create(this.#token, key, bodyOf(plan)));
    const [lease, again] = await Promise.all([create(), ...(plan.isRepeated ? [create()] : [])]);
    if (!lease) return trace.add(this.#name, `may not have lease ${this.leaseIdOf(key)}`);
    const { id } = lease;
    if (again && again.id !== id) this.#violate(`has leases ${id} and ${again.id} for one key`);
    const renewals = renewalsOf(plan, beganMs);
    for (;;) {
      const waitMs = this.#random.pick([0, 0, 3_000]);
      const answer = await this.#repeat(life, (api) => this.#get(api, id, waitMs));
      if (life !== this.#life) return;
      if (!answer && replacements !== this.#world.replacements) return; // another database knows nothing of it
      if (!answer) return this.#violate(`lease ${id} is unknown, although it was answered`);
      this.#check(answer);
      if (answer.state === 'ended' || answer.state === 'failed') return;
      const passedMs = clock.now() - beganMs;
      if (passedMs >= (plan.returnAfterMs ?? Infinity) || (this.#isCalm && plan.giveUpMs === null)) {
        await this.#repeat(life, (api) => api.end(this.#token, id));
      } else if (renewals[0] && clock.now() >= renewals[0].atMs && (!plan.due || answer.state === 'active')) {
        const { untilMs } = renewals.shift() ?? {};
        const ttlMs = untilMs === undefined ? plan.ttlMs : Math.max(1, untilMs - clock.now());
        await this.#repeat(life, (api) => api.renew(this.#token, id, ttlMs));
      } else {
        const untilNextMs =
          plan.due && answer.state === 'active' ? (renewals[0]?.atMs ?? Infinity) - clock.now() : Infinity;
        await delay(clock, Math.min(this.#random.exponential(2 * PAUSE_MS), untilNextMs));
      }
    }
  }

  /** A launcher that stays connected shows what was written before it was asked, also by another one. */
  async #get(api: LeaseApi, id: string, waitMs = 0): Promise<LeaseAnswer> {
    const { leases, replacements, spoiled } = this.#world;
    const { connection } = api;
    const before = connection.isMade ? leases.leases.get(id)?.state : undefined;
    const answer = await api.get(this.#token, id, waitMs);
    const isSame = connection === api.connection && replacements === this.#world.replacements;
    if (before !== undefined && isSame && !spoiled.has(leasePath(id)) && placeOf(answer.state) < placeOf(before))
      this.#violate(`lease ${id} was ${before}, and is shown as ${answer.state} afterwards`);
    return answer;
  }

  /** An active lease has all its nodes, unless some were taken from it by an operator or have failed. */
  #check({ id, state, nodes }: LeaseAnswer): void {
    const { checker, clock, leases, spoiled } = this.#world;
    const truth = leases.leases.get(id);
    const overMs = truth?.state === 'ended' || truth?.state === 'failed' ? clock.now() - truth.sinceMs : 0;
    if (state === 'active' && overMs > MOST_OUTDATED_MS)
      this.#violate(`lease ${id} is shown as active ${Math.round(overMs)} ms after its end`);
    if (state !== 'active' || truth?.state !== 'active' || nodes.length === truth.nodes.length) return;
    const shown = new Set(nodes.map((node) => node.id));
    const isHidden = (node: string) => !shown.has(node) && checker.nodes.get(node)?.state === 'hold';
    const hidden = truth.nodes.find((node) => isHidden(node) && !spoiled.has(nodePath(node as NodeId)));
    if (hidden !== undefined) this.#violate(`lease ${id} is shown without node ${hidden}`);
  }

  #violate(what: string): void {
    this.#world.violate(new Violation(`${this.#name}: ${what}`));
  }

  /** Calls launchers in turn until one answers. @returns `undefined` if the call is refused, or the client has died */
  async #repeat<T>(life: number, act: (api: LeaseApi) => Promise<T>): Promise<T | undefined> {
    const { clock, trace } = this.#world;
    for (let pauseMs = PAUSE_MS; life === this.#life; pauseMs = Math.min(1.5 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await this.#call(this.#random.pick(this.#launchers), act);
      } catch (error) {
        if (error instanceof ApiError && this.#isRefusal(error)) return undefined;
        if (!(error instanceof ApiError) && !(error instanceof Unanswered)) throw error;
        trace.add(this.#name, () => `repeats its call: ${String(error)}`);
        await delay(clock, this.#random.exponential(pauseMs));
      }
    }
    return undefined;
  }

  /** Whether a repetition is of no use. A token is not known everywhere at once. */
  #isRefusal({ status, code, message }: ApiError): boolean {
    const isKnown = this.#world.replacements === 0 && this.#world.elapsedMs - this.#tokenMs > TOKEN_KNOWN_MS;
    if (status === 401 && isKnown) this.#violate(`is refused with its token: ${message}`);
    return [403, 404, 422].includes(status) || code === 'over';
  }

  #call<T>(launcher: SimulatedLauncher, act: (api: LeaseApi) => Promise<T>): Promise<T> {
    const lostShare = !this.#isCalm && this.#world.drawn.has('lessees') ? LOST_SHARE : 0;
    return callLauncher(this.#world.clock, this.#random, launcher, lostShare, act);
  }
}

const placeOf = (state: string): number => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);

/** What a lease is requested with. */
const bodyOf = ({
  labels,
  priority,
  ttlMs,
  giveUpMs,
}: Pick<LeasePlan, 'labels' | 'priority' | 'ttlMs' | 'giveUpMs'>) => ({
  ...{ labels: [...labels], priority, ttl: ttlMs / 1000 },
  ...(giveUpMs !== null && { give_up: giveUpMs / 1000 }),
});

/** When a lease is renewed, and until when. */
function renewalsOf({ renewAfterMs, due }: LeasePlan, beganMs: number): { atMs: number; untilMs?: number }[] {
  if (!due) return renewAfterMs === undefined ? [] : [{ atMs: beganMs + renewAfterMs }];
  const { atMs, renewedAtMs } = due;
  return [{ atMs: 0, untilMs: atMs }, ...(renewedAtMs === undefined ? [] : [{ atMs: renewedAtMs }])];
}
