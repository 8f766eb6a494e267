import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServerProcess } from './child-process.js';
import { accepts, freePorts, until } from './ports.js';

/** All metrics received by a statsd server. */
export interface StatsdMetrics {
  /** Sums by name. */
  counters: Record<string, number>;
  /** Last values by name. */
  gauges: Record<string, number>;
  /** Samples by name, in milliseconds and in the order received. */
  timers: Record<string, number[]>;
}

/** A running statsd server. */
export interface StatsdHandle {
  readonly host: string;
  /** UDP and TCP. */
  readonly port: number;
  /** All metrics that arrived before the call. */
  metrics(): Promise<StatsdMetrics>;
  /** Waits until the received metrics satisfy a condition. */
  waitFor(condition: (metrics: StatsdMetrics) => boolean, timeoutMs?: number): Promise<StatsdMetrics>;
  /** Number of malformed lines. */
  badLines(): Promise<number>;
  stop(): Promise<void>;
}

const FLUSH_MS = 50;

class Handle implements StatsdHandle {
  readonly host = '127.0.0.1';
  readonly #total: StatsdMetrics = { counters: {}, gauges: {}, timers: {} };
  #flushed: (() => void)[] = [];

  constructor(
    readonly port: number,
    private readonly dir: string,
    private readonly process: ServerProcess,
  ) {
    process.child.on('message', (flush) => this.#add(flush as StatsdMetrics));
    void process.exited.then(() => this.#wake());
  }

  #add({ counters, gauges, timers }: StatsdMetrics): void {
    for (const [name, value] of Object.entries(counters)) {
      this.#total.counters[name] = (this.#total.counters[name] ?? 0) + value;
    }
    Object.assign(this.#total.gauges, gauges);
    for (const [name, values] of Object.entries(timers)) (this.#total.timers[name] ??= []).push(...values);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#flushed.splice(0)) resolve();
  }

  #nextFlush(): Promise<void> {
    if (!this.process.isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#flushed.push(resolve));
  }

  async metrics(): Promise<StatsdMetrics> {
    await this.#nextFlush(); // the current flush may have started before the call
    await this.#nextFlush();
    return structuredClone(this.#total);
  }

  async waitFor(condition: (metrics: StatsdMetrics) => boolean, timeoutMs = 50_000): Promise<StatsdMetrics> {
    const failure = (): string => `statsd did not receive what was expected, but ${JSON.stringify(this.#total)}`;
    await until(() => Promise.resolve(condition(this.#total)), failure, timeoutMs, FLUSH_MS);
    return structuredClone(this.#total);
  }

  async badLines(): Promise<number> {
    const { counters } = await this.metrics();
    return counters['statsd.bad_lines_seen'] ?? 0;
  }

  async stop(): Promise<void> {
    await this.process.kill();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/**
 * Starts the original statsd daemon on a free port. It ends with the test process.
 * @throws {Error} it does not start; with its output
 */
export async function startStatsd(): Promise<StatsdHandle> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-statsd-'));
  const [port = 0, managementPort = 0] = await freePorts(2);
  const address = '127.0.0.1';
  const config = {
    servers: ['udp', 'tcp'].map((kind) => ({ server: `./servers/${kind}`, address, port })),
    mgmt_address: address,
    mgmt_port: managementPort,
    flushInterval: FLUSH_MS,
    deleteIdleStats: true,
    backends: [fileURLToPath(new URL('../assets/statsd-backend.cjs', import.meta.url))],
  };
  const configFile = join(dir, 'config.js');
  await writeFile(configFile, JSON.stringify(config));
  const utilLog = fileURLToPath(new URL('../assets/util-log.cjs', import.meta.url));
  const stats = createRequire(import.meta.url).resolve('statsd/stats.js');
  const server = ServerProcess.start(process.execPath, ['--require', utilLog, stats, configFile], { ipc: true });
  const handle = new Handle(port, dir, server);
  const failure = (): string => `statsd on port ${port} did not start:\n${server.output.slice(-2000)}`;
  try {
    await until(async () => {
      if (!server.isRunning) throw new Error(failure());
      return server.output.includes('server is up') && (await accepts(port, address));
    }, failure);
    await handle.metrics(); // the first flush shows that the backend runs
    return handle;
  } catch (error) {
    await handle.stop();
    throw error;
  }
}
