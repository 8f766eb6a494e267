import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SOON_MS } from './soon.js';

const PROGRAM = fileURLToPath(new URL('../../packages/driver-fake/bin/nodepool-fake-cloud.js', import.meta.url));

/** An instance as the cloud shows it. */
export interface CloudInstance {
  id: string;
  name: string;
  status: string;
  metadata: Record<string, string>;
}

/** An instance appeared or changed; `null`: it is gone. */
export interface InstanceEvent {
  id: string;
  instance: CloudInstance | null;
}

type Message =
  | { id: number; result: unknown }
  | { id: number; error: { kind: string; message: string } }
  | { event: InstanceEvent }
  | { reset: true };

interface Call {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** The fake cloud's server as a process of its own, with a connection to watch it and to turn its knobs. */
export class FakeCloudProcess {
  /** All instances there are now. */
  readonly instances = new Map<string, CloudInstance>();
  /** The most instances there were at the same time. */
  most = 0;
  readonly #listeners = new Set<(event: InstanceEvent) => void>();
  readonly #calls = new Map<number, Call>();
  #lastCall = 0;

  private constructor(
    /** Its `state-dir`. */
    readonly dir: string,
    private readonly child: ChildProcess,
    private readonly socket: Socket,
  ) {
    createInterface({ input: socket }).on('line', (line) => this.#handle(JSON.parse(line) as Message));
    socket.on('close', () => {
      for (const { reject } of this.#calls.values()) reject(new Error('the fake cloud closed the connection'));
    });
  }

  /** Starts the server and resolves when it answers. @param dir - its own directory, with a short path */
  static async start(dir: string): Promise<FakeCloudProcess> {
    // it ends by itself should this process be killed
    const args = ['--dir', dir, '--idle-timeout', '60', 'serve'];
    const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown];
    if (!String(said).startsWith('serving')) throw new Error(`the fake cloud in ${dir} did not start: ${String(said)}`);
    const socket = connect(join(dir, 'socket'));
    await once(socket, 'connect');
    const cloud = new FakeCloudProcess(dir, child, socket.setEncoding('utf8'));
    await cloud.call('subscribe', null);
    return cloud;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Makes one call; a result of `kill`, `hide` and `leak` means that it was done. */
  call(call: string, args: unknown): Promise<unknown> {
    const id = ++this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.socket.write(`${JSON.stringify({ id, call, args })}\n`);
    });
  }

  /** Turns a knob, e.g. `failures.quota`; `null` puts it back to its default. */
  async set(path: string, value: unknown): Promise<void> {
    await this.call('set', { path, value });
  }

  /** Told of every change from now on. @returns to be told no more */
  onChange(listener: (event: InstanceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits until the instances satisfy a condition. @throws {Error} they do not in time */
  async until(condition: (instances: CloudInstance[]) => boolean, timeoutMs = SOON_MS): Promise<void> {
    const holds = (): boolean => condition([...this.instances.values()]);
    if (holds()) return;
    const limit = new AbortController();
    let stop = (): void => undefined;
    const held = new Promise<'held'>((resolve) => {
      stop = this.onChange(() => holds() && resolve('held'));
    });
    const late = delay(timeoutMs, 'late', { signal: limit.signal }).catch(() => 'held');
    const end = await Promise.race([held, late]);
    limit.abort();
    stop();
    if (end === 'late') {
      throw new Error(`not so after ${timeoutMs} ms: ${JSON.stringify([...this.instances.values()].slice(0, 10))}`);
    }
  }

  /** Ends the server. Safe to repeat. */
  async stop(): Promise<void> {
    this.socket.destroy();
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }

  #handle(message: Message): void {
    if ('reset' in message) {
      this.instances.clear();
    } else if ('event' in message) {
      const { id, instance } = message.event;
      if (instance) this.instances.set(id, instance);
      else this.instances.delete(id);
      this.most = Math.max(this.most, this.instances.size);
      for (const listener of this.#listeners) listener(message.event);
    } else {
      const call = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if ('error' in message) call?.reject(new Error(`${message.error.kind}: ${message.error.message}`));
      else call?.resolve(message.result);
    }
  }
}
