import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@nodepool/core';
import type { CloudFailureKind, CloudResource, MachineEnd } from '@nodepool/core/testing';
import type { Machine, MachineOrder } from '../src/client.js';

const START_MS = 3_000;
const STOP_MS = 2_000;
/** Limit in the response of `GET /limits`. */
export const MAX_MACHINES = 20;

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

/** A fake cloud on loopback: real HTTP, with a clock that tests control. */
export class FakeCloud {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #machines = new Map<string, Machine>();
  readonly #outages: CloudFailureKind[] = [];
  readonly #creations: CloudFailureKind[] = [];
  readonly #server: Server;
  #next = 1;

  private constructor(clock: Clock, startMs: number) {
    this.#clock = clock;
    this.#startMs = startMs;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @param startMs - boot time of a machine */
  static async start(clock: Clock, startMs = START_MS): Promise<FakeCloud> {
    const cloud = new FakeCloud(clock, startMs);
    await new Promise<void>((resolve) => cloud.#server.listen(0, '127.0.0.1', resolve));
    return cloud;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  list(): CloudResource[] {
    return [...this.#machines.values()].map(({ id, status }) => ({ id, isReady: status === 'running' }));
  }

  failNext(kind: CloudFailureKind): void {
    (kind === 'unavailable' ? this.#outages : this.#creations).push(kind);
  }

  /** Ends a machine, as a failure or another program does. */
  endMachine(id: string, how: MachineEnd): boolean {
    const machine = this.#machines.get(id);
    if (machine && how === 'stopped') this.#machines.set(id, { ...machine, status: 'broken' });
    else this.#machines.delete(id);
    return true;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const answer = this.#outages.shift() ? undefined : this.#answer(request, text);
    if (!answer) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(answer.body ?? null));
  }

  /** @returns `undefined` to break the connection instead */
  #answer({ method, url = '' }: IncomingMessage, text: string): Answer | undefined {
    const id = url.split('/')[2];
    if (method === 'GET' && url === '/limits') return { status: 200, body: { machines: MAX_MACHINES } };
    if (method === 'GET' && url === '/machines') return { status: 200, body: [...this.#machines.values()] };
    if (method === 'POST' && url === '/machines') return this.#create(JSON.parse(text) as MachineOrder);
    if (method === 'DELETE' && id !== undefined) return this.#delete(decodeURIComponent(id));
    return { status: 400, body: `what is ${method} ${url}?` };
  }

  #create({ size, tags }: MachineOrder): Answer | undefined {
    const failure = this.#creations.shift();
    if (failure === 'quota' || this.#machines.size >= MAX_MACHINES) return { status: 403, body: 'quota used up' };
    if (failure === 'capacity') return { status: 507, body: 'no capacity' };
    const machine: Machine = { id: `m${this.#next++}`, status: 'starting', address: null, size, tags };
    this.#machines.set(machine.id, machine);
    const outcome = failure === 'error-state' ? { status: 'broken' as const } : running(machine.id);
    if (failure !== 'never-ready') this.#later(this.#startMs, machine.id, (now) => ({ ...now, ...outcome }));
    return failure === 'lost-reply' ? undefined : { status: 201, body: machine };
  }

  #delete(id: string): Answer {
    const machine = this.#machines.get(id);
    if (!machine) return { status: 404, body: `no machine ${id}` };
    if (machine.status !== 'stopping') {
      this.#machines.set(id, { ...machine, status: 'stopping' });
      this.#clock.setTimer(STOP_MS, () => this.#machines.delete(id));
    }
    return { status: 202 };
  }

  #later(ms: number, id: string, change: (machine: Machine) => Machine): void {
    this.#clock.setTimer(ms, () => {
      const machine = this.#machines.get(id);
      if (machine?.status === 'starting') this.#machines.set(id, change(machine));
    });
  }
}

/** The kit has no network: Nodepool never contacts a host name that contains `fake`. */
function running(id: string) {
  return { status: 'running', address: `${id}.fake` } as const;
}
