import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '@nodepool/core/testing';
import { newControl, storeControl } from '@nodepool/zk-protocol';
import type { Fact } from './kill-checks.js';
import { Lessee, type LeaseAnswer } from './lessee.js';
import type { HeldNode, ZuulClient } from './zuul-client.js';

/** A launcher that does not answer, e.g. as it is stopped: another is asked. Its answer counts when it comes. */
const IMPATIENT_MS = 1_500;
const ANSWER_MS = 240_000;
/** A lease is asked for, or ended, for so long. */
const CALLS_MS = 120_000;

interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly lease?: LeaseAnswer;
}

/** What a call is about. */
interface Asked {
  readonly key?: string;
  /** Of the lease, if it is known. */
  readonly id?: string;
  /** Of a renewal: until when the lease is to last. */
  readonly leastMs?: number;
}

/** Lessees and jobs, and what they were told. */
export class KillLoad {
  readonly counts = { leases: 0, renewals: 0, abandoned: 0, requests: 0, fulfilled: 0, holds: 0 };
  /** Latest end that was promised, of each lease. */
  readonly #promised = new Map<string, number>();
  #isOver = false;

  constructor(
    private readonly facts: Fact[],
    private readonly ports: readonly number[],
    private readonly random: Random,
  ) {}

  /** Lets each finish what it does, and begin nothing. */
  end(): void {
    this.#isOver = true;
  }

  /** Takes leases, one after the other. */
  async lessee(): Promise<void> {
    while (!this.#isOver) {
      const ttlS = this.random.int(4, 9);
      const lease = await this.#begin(ttlS);
      if (lease?.state !== 'active') continue;
      this.counts.leases++;
      for (let rounds = this.random.int(0, 3); rounds > 0 && !this.#isOver; rounds--) await this.#renew(lease.id, ttlS);
      await this.#finish(lease.id);
    }
  }

  /** Requests nodes as Zuul does, one after the other. */
  async jobs(zuul: ZuulClient): Promise<void> {
    while (!this.#isOver) {
      const request = await zuul.submit([this.#label()]);
      this.counts.requests++;
      const { state } = await zuul.wait(request, ANSWER_MS);
      if (state !== 'fulfilled') await zuul.cancel(request);
      else await this.#runJob(zuul, `job ${request}`, await zuul.accept(request));
    }
  }

  /** Few enough of those that are kept stopped, so that there is time to stop them. */
  #label(): string {
    return this.random.chance(0.2) ? 'kept' : 'small';
  }

  async #runJob(zuul: ZuulClient, user: string, nodes: readonly HeldNode[]): Promise<void> {
    this.counts.fulfilled++;
    const machines = nodes.map(({ body }) => String(body['external_id']));
    const ms = Date.now();
    this.facts.push({ kind: 'promise', ms, user, machines, fromMs: ms, untilMs: Infinity });
    await zuul.use(nodes);
    const heldUntilMs = this.random.chance(0.3) ? await this.#orderHold(zuul, nodes) : 0;
    await delay(this.random.between(500, 5_000));
    this.facts.push({ kind: 'release', ms: Date.now(), user, heldUntilMs });
    await zuul.giveBack(nodes);
  }

  async #orderHold(zuul: ZuulClient, nodes: readonly HeldNode[]): Promise<number> {
    const nowMs = Date.now();
    const endTimeMs = nowMs + this.random.int(6_000, 15_000);
    for (const { id } of nodes) {
      await storeControl(zuul.zk, newControl({ kind: 'node', name: id, mode: 'hold', owner: 'bob', endTimeMs }, nowMs));
      this.counts.holds++;
    }
    return endTimeMs;
  }

  /** Repeats the request, with the same key, until it is served or not. */
  async #begin(ttl: number): Promise<LeaseAnswer | undefined> {
    const key = randomUUID();
    const labels = Array.from({ length: this.random.int(1, 2) }, () => this.#label());
    const body = { labels, ttl, give_up: 60, wait: 1 };
    const deadline = Date.now() + CALLS_MS;
    while (Date.now() < deadline) {
      const { lease } = await this.#call('POST', '/leases', body, { key });
      if (lease && lease.state !== 'waiting') return lease;
    }
    throw new Error(`no launcher has served a lease, or refused it, within ${CALLS_MS} ms`);
  }

  /** Renews at half of the time, or at the last moment; asks all launchers until one has answered, or it is over. */
  async #renew(id: string, ttlS: number): Promise<void> {
    const leftMs = this.random.chance(0.5) ? ttlS * 500 : this.random.int(50, 1_500);
    await delay(Math.max(0, this.#promisedMs(id) - leftMs - Date.now()));
    const deadline = this.#promisedMs(id) + 2 * IMPATIENT_MS;
    while (Date.now() < deadline) {
      const { status } = await this.#call(
        'POST',
        `/leases/${id}/renew`,
        {},
        { id, leastMs: Date.now() + ttlS * 1_000 },
      );
      if (status === 200) this.counts.renewals++;
      if (status === 200 || status === 404 || status === 409) return;
    }
  }

  /** Returns the lease, unless the lessee is killed; then looks how it ended. */
  async #finish(id: string): Promise<void> {
    const isKilled = this.random.chance(0.3);
    if (isKilled) this.counts.abandoned++;
    else this.facts.push({ kind: 'release', ms: Date.now(), user: `lease ${id}` });
    const deadline = this.#promisedMs(id) + CALLS_MS;
    while (Date.now() < deadline) {
      const { status, lease } = await this.#call(isKilled ? 'GET' : 'DELETE', `/leases/${id}`, undefined, { id });
      if (status === 404 || lease?.state === 'ended' || lease?.state === 'failed') return;
      await delay(500);
    }
    throw new Error(`lease ${id} is not over ${CALLS_MS} ms after its time`);
  }

  #promisedMs(id: string): number {
    return this.#promised.get(id) ?? 0;
  }

  /** Asks one launcher. @returns status 0: no answer in time */
  #call(method: string, path: string, body: object | undefined, more: Asked): Promise<Answer> {
    const answer = Lessee.send(this.random.pick(this.ports), method, path, body, more.key)
      .then(async (response): Promise<Answer> => {
        const json = (await response.json()) as object;
        return response.ok
          ? { status: response.status, lease: json as LeaseAnswer }
          : { status: response.status, ...json };
      })
      .catch(() => delay<Answer>(100, { status: 0 })); // refused at once: the launcher does not run
    const told = answer.then((what) => this.#told(what, more));
    return Promise.race([told, delay<Answer>(IMPATIENT_MS + (method === 'POST' ? 1_000 : 0), { status: 0 })]);
  }

  /** Writes down what an answer means for its lease. */
  #told(answer: Answer, { id = '', leastMs }: Asked): Answer {
    const { status, code, lease } = answer;
    const ms = Date.now();
    if (lease?.state === 'active') {
      const machines = lease.nodes.map((node) => String(node.external_id));
      const [fromMs, untilMs] = [lease.state_time * 1_000, (lease.expires ?? 0) * 1_000];
      this.#promised.set(lease.id, Math.max(this.#promisedMs(lease.id), untilMs));
      const renewed = leastMs === undefined ? {} : { leastMs };
      this.facts.push({ kind: 'promise', ms, user: `lease ${lease.id}`, machines, fromMs, untilMs, ...renewed });
    } else if (lease && lease.state !== 'waiting') {
      const [endMs, why] = [lease.state_time * 1_000, lease.end_reason ?? ''];
      this.facts.push({ kind: 'over', ms, user: `lease ${lease.id}`, endMs, why });
    } else if (id !== '' && (status === 404 || code === 'over')) {
      this.facts.push({ kind: 'over', ms, user: `lease ${id}`, endMs: ms, why: `${status} ${code}` });
    }
    return code === 'changed' ? { status: 0 } : answer;
  }
}
