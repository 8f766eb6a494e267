import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, fetch, type Response } from 'undici';
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
  /** When, by the clock of the cloud. */
  timeMs: number;
}

/** The fake cloud's server as a process of its own, with a client that follows it and turns its knobs. */
export class FakeCloudProcess {
  /** All instances there are now. */
  readonly instances = new Map<string, CloudInstance>();
  /** The most instances there were at the same time. */
  most = 0;
  readonly #listeners = new Set<(event: InstanceEvent) => void>();

  private constructor(
    /** Its `state-dir`. */
    readonly dir: string,
    private readonly child: ChildProcess,
    private readonly http: Agent,
  ) {}

  /** Starts the server and resolves when it answers. @param dir - its own directory, with a short path */
  static async start(dir: string): Promise<FakeCloudProcess> {
    // it ends by itself should this process be killed
    const args = ['--dir', dir, '--idle-timeout', '60', 'serve'];
    const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown];
    if (!String(said).startsWith('serving')) throw new Error(`the fake cloud in ${dir} did not start: ${String(said)}`);
    const http = new Agent({ connect: { socketPath: join(dir, 'socket') }, bodyTimeout: 0, headersTimeout: 0 });
    const cloud = new FakeCloudProcess(dir, child, http);
    void cloud.#follow(await cloud.#post('events'));
    return cloud;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Makes one call; a result of `kill`, `hide` and `leak` means that it was done. */
  async call(call: string, args: unknown): Promise<unknown> {
    const response = await this.#post(call, args);
    if (response.ok) return response.json();
    throw new Error(`${call}: ${response.status} ${await response.text()}`);
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
    await this.http.destroy();
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }

  #post(call: string, args: unknown = null): Promise<Response> {
    return fetch(`http://fake-cloud/${call}`, { dispatcher: this.http, method: 'POST', body: JSON.stringify(args) });
  }

  async #follow(events: Response): Promise<void> {
    for await (const line of linesOf(events)) this.#heard(JSON.parse(line) as InstanceEvent);
  }

  #heard(event: InstanceEvent): void {
    const { id, instance } = event;
    if (instance) this.instances.set(id, instance);
    else this.instances.delete(id);
    this.most = Math.max(this.most, this.instances.size);
    for (const listener of this.#listeners) listener(event);
  }
}

/** Lines of an answer, until it breaks off. */
async function* linesOf({ body }: Response): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch {
    // The server has ended, or the client.
  }
}
