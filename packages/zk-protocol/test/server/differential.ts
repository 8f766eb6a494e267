import { isDeepStrictEqual, inspect } from 'node:util';
import { OpCode } from '../../src/server/model/constants.js';
import type { Fields } from './decode.js';
import { OperationSource } from './operations.js';
import { Random } from './random.js';
import type { RawRequest } from './raw-client.js';
import { bare } from './raw-requests.js';
import { Side } from './side.js';

const SLOTS = 3;
const STEPS_BETWEEN_COMPARISONS = 12;
const HISTORY = 60;

/** Sends the same random requests to two servers and compares everything they say. */
export class Differential {
  private readonly random: Random;
  private readonly source: OperationSource;
  private readonly sides: readonly [Side, Side];
  private readonly history: string[] = [];
  private operations = 0;
  private zxidsUsed = 0;

  constructor(
    private readonly seed: number,
    ports: { real: number; ours: number },
  ) {
    this.random = new Random(seed);
    this.source = new OperationSource(this.random, `/differential-${seed}`);
    this.sides = [new Side('ZooKeeper', ports.real), new Side('embedded', ports.ours)];
  }

  /**
   * @param expiries - how many sessions to let expire on the way; each takes seconds
   * @throws an error that says how to repeat the run, at the first difference
   */
  async run(operations: number, expiries: number): Promise<void> {
    await this.both((side) => side.start(SLOTS));
    try {
      await this.request(0, this.source.base());
      for (let expired = 0; expired <= expiries; expired++) {
        const until = ((expired + 1) * operations) / (expiries + 1);
        while (this.operations < until) {
          for (let step = 0; step < STEPS_BETWEEN_COMPARISONS; step++) await this.step();
          await this.compare();
        }
        if (expired < expiries) await this.expire();
      }
    } finally {
      await this.both((side) => side.stop());
    }
  }

  private async step(): Promise<void> {
    const slot = this.random.below(SLOTS);
    const action = this.random.weighted<() => Promise<void>>([
      [100, () => this.burst(slot)],
      [6, () => this.request(slot, this.source.setAcl())],
      [1, () => this.request(slot, this.source.ping())],
      [1, () => this.addAuth(slot)],
      [1.5, () => this.closeSession(slot)],
      [2, () => this.reattach(slot)],
      [0.3, () => this.attachWrongly(slot)],
    ]);
    await action();
  }

  private async burst(slot: number): Promise<void> {
    const requests = Array.from({ length: 1 + this.random.below(6) }, () => this.source.next());
    await this.request(slot, ...requests);
  }

  private async request(slot: number, ...requests: RawRequest[]): Promise<void> {
    let xid = this.sides[0].client(slot).lastXid;
    for (const { text, type } of requests) this.note(`${slot}: ${type === OpCode.ping ? 'ping' : `${++xid} ${text}`}`);
    await this.both((side) => side.client(slot).call(...requests));
  }

  private async addAuth(slot: number): Promise<void> {
    const [scheme, credentials] = this.random.pick([
      ['digest', slot === 0 ? 'ann:secret' : 'bob:secret'],
      ['digest', slot === 0 ? 'ann:secret' : 'bob:secret'],
      ['ip', 'whatever'],
    ] as const);
    this.note(`${slot}: auth ${scheme} ${credentials}`);
    await this.both((side) => side.client(slot).addAuth(scheme, credentials));
  }

  /** The order in which a session's ephemerals go is up to the server, so events are compared without order here. */
  private async closeSession(slot: number): Promise<void> {
    await this.compare();
    this.note(`${slot}: close session`);
    await this.both((side) => side.closeSession(slot, bare(OpCode.closeSession)));
    await this.compare({ ordered: false, except: slot });
    await this.both((side) => side.openSession(slot));
    await this.compare();
  }

  private async reattach(slot: number): Promise<void> {
    await this.compare();
    const dropFirst = this.random.chance(0.6);
    this.note(`${slot}: attach again ${dropFirst ? 'after' : 'before'} the connection is cut`);
    await this.both((side) => side.reattach(slot, { dropFirst }));
    if (this.random.chance(0.7)) {
      const make = this.source.setWatches();
      const relative = Math.max(0, this.zxidsUsed - this.random.below(30));
      this.note(`${slot}: ${make(relative).text} since ${relative}`);
      await this.both((side) => side.client(slot).call(make(side.absoluteZxid(relative))));
    }
    await this.compare();
  }

  private async attachWrongly(slot: number): Promise<void> {
    // ZooKeeper cuts the session's own connection before it looks at the password; that one is attached again.
    await this.compare();
    this.note(`${slot}: attach with a wrong password`);
    const [real, ours] = await this.both((side) => side.attachWrongly(slot));
    if (!isDeepStrictEqual(real, ours)) throw this.difference('answer to a wrong password', real, ours);
    await this.both((side) => side.reattach(slot, { dropFirst: true }));
    await this.compare();
  }

  private async expire(): Promise<void> {
    await this.compare();
    const slot = 1;
    const ephemeral = this.source.expiryProbe();
    await this.both((side) => side.closeSession(slot, bare(OpCode.closeSession)));
    await this.compare({ ordered: false, except: slot });
    await this.both((side) => side.openSession(slot, { isShort: true }));
    await this.request(slot, ephemeral.create);
    await this.compare();
    this.note(`${slot}: expires`);
    await this.both((side) => side.expire(slot, 0, ephemeral.read));
    await this.both((side) => side.openSession(slot));
    await this.compare({ ordered: false, except: slot });
  }

  private note(text: string): void {
    this.operations++;
    this.history.push(text);
    if (this.history.length > HISTORY) this.history.shift();
  }

  private async compare({ ordered = true, except }: { ordered?: boolean; except?: number } = {}): Promise<void> {
    await this.both((side) => side.barrier());
    const [real, ours] = this.sides.map((side) => side.takeMessages());
    for (let slot = 0; slot < SLOTS; slot++) {
      const expected = real?.[slot] ?? [];
      const found = ours?.[slot] ?? [];
      if (slot === except) continue;
      this.compareStreams(slot, ordered ? expected : sortedEvents(expected), ordered ? found : sortedEvents(found));
      this.zxidsUsed = Math.max(this.zxidsUsed, ...expected.map(({ zxid }) => Number(zxid)));
    }
  }

  private compareStreams(slot: number, expected: Fields[], found: Fields[]): void {
    for (let index = 0; index < Math.max(expected.length, found.length); index++) {
      if (isDeepStrictEqual(expected[index], found[index])) continue;
      throw this.difference(`connection ${slot}, message ${index}`, expected[index], found[index]);
    }
  }

  private difference(where: string, expected: unknown, found: unknown): Error {
    const show = (value: unknown) => inspect(value, { depth: 8, breakLength: Infinity });
    return new Error(
      `the servers differ (repeat with NODEPOOL_DIFFERENTIAL_SEED=${this.seed}) at ${where}\n` +
        `ZooKeeper: ${show(expected)}\nembedded: ${show(found)}\nlast requests:\n${this.history.join('\n')}`,
    );
  }

  private async both<T>(act: (side: Side) => T | Promise<T>): Promise<[T, T]> {
    const [real, ours] = this.sides;
    return Promise.all([act(real), act(ours)]);
  }
}

function sortedEvents(messages: Fields[]): Fields[] {
  const key = (message: Fields) => JSON.stringify(message);
  const events = messages.filter(({ kind }) => kind === 'event').sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return [...events, ...messages.filter(({ kind }) => kind !== 'event')];
}
