import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config, Logger } from '@nodepool/core';
import type { Metrics } from '@nodepool/core/metrics';
import { CpuProfiler } from './cpu-profile.js';
import type { EmbeddedZooKeeper } from './embedded-zookeeper.js';
import { createHealthReport } from './health.js';
import { Reloader } from './reloader.js';
import type { LauncherRuntime } from './runtime.js';
import { dumpState } from './state-dump.js';
import { trimHeap } from './trim-heap.js';
import { createExplainRoutes } from './web/explain-routes.js';
import { createListingRoutes } from './web/listing-routes.js';
import { createMetricsRoute } from './web/metrics-route.js';
import type { RouteTable } from './web/routes.js';
import { startWebServer, type WebServer } from './web/server.js';
import { createStatusRoutes } from './web/status-routes.js';

/** What a service is put together from. */
export interface ServiceParts {
  readonly config: Config;
  readonly zk: ZooKeeper;
  /** The server this process runs itself, when the configuration names none. */
  readonly embedded: EmbeddedZooKeeper | undefined;
  readonly runtime: LauncherRuntime;
  /** Follow the runtime; closed with the service. */
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly hostname: string;
  /** Run the web server. */
  readonly webapp: boolean;
  /** Directories for CPU profiles, best first. */
  readonly profileDirs: readonly string[];
  /** Reads the configuration again; the signal gives up waiting for drivers. */
  loadConfig(signal?: AbortSignal): Promise<Config>;
  /** Puts a configuration in force beyond the runtime, e.g. another server list. */
  applyConfig(config: Config): Promise<void>;
}

const TRIM_AFTER_MS = 1_500;

/** A running launcher: the part that serves requests, its web server, and what signals ask of it. */
export class LauncherService {
  readonly #parts: ServiceParts;
  readonly #reloader: Reloader;
  readonly #profiler: CpuProfiler;
  readonly #startedMs: number;
  #web: WebServer | undefined;
  #draining = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.now();
    this.#profiler = new CpuProfiler(parts.profileDirs);
    this.#reloader = new Reloader({
      initial: parts.config,
      load: (signal) => parts.loadConfig(signal),
      apply: async (config) => {
        await parts.applyConfig(config);
        await parts.runtime.reconfigure(config);
        this.#trimSoon();
      },
      logger: parts.logger,
      now: () => parts.clock.now(),
    });
  }

  /** Address of the web server; `undefined` while it does not listen. */
  get web(): Pick<WebServer, 'host' | 'port'> | undefined {
    return this.#web;
  }

  /** True once {@link LauncherService.stop} was called. */
  get stopping(): boolean {
    return this.#draining;
  }

  /** Begins answering the web, so that `/ready` can say what is missing. @throws NODEPOOL_WEB_LISTEN */
  async listen(): Promise<void> {
    const { config, webapp, clock, logger } = this.#parts;
    if (!webapp) return;
    this.#web = await startWebServer({
      host: config.webapp.listenAddress,
      port: config.webapp.port,
      routes: this.#routes(),
      clock,
      logger: logger.child({}, 'web'),
    });
  }

  /** Resolves when requests are served. */
  async start(): Promise<void> {
    const { runtime, logger, clock, config } = this.#parts;
    await runtime.start();
    logger.info('Launcher started', {
      durationMs: clock.now() - this.#startedMs,
      providers: [...config.providers.keys()],
      nodes: runtime.nodes.size,
    });
    this.#trimSoon();
  }

  /** After the rush that follows a start or a reload. */
  #trimSoon(): void {
    this.#parts.clock.setTimer(TRIM_AFTER_MS, () => {
      if (!this.#draining) trimHeap();
    });
  }

  /** Reads the configuration again. Never rejects: a bad one changes nothing. */
  reload(): Promise<void> {
    return this.#reloader.reload();
  }

  /** Writes the state to the log and begins or ends a CPU profile. */
  async dump(): Promise<void> {
    const { runtime, zk, clock, logger } = this.#parts;
    const dumpLogger = logger.child({}, 'stack_dump');
    for (const line of dumpState(runtime, zk, clock.now())) dumpLogger.info(line);
    try {
      const file = await this.#profiler.toggle(clock.now());
      if (file === undefined) dumpLogger.info('CPU profile begun; the next SIGUSR2 writes it');
      else dumpLogger.info('CPU profile written', { file });
    } catch (error) {
      dumpLogger.error('CPU profile failed', { error });
    }
  }

  /** Serves no new requests, ends what is under way within the deadline, and leaves ZooKeeper in good order. */
  async stop(drainTimeoutMs: number): Promise<void> {
    const { runtime, metrics, zk, embedded, logger, clock } = this.#parts;
    this.#draining = true;
    const beganMs = clock.now();
    try {
      await runtime.drain(drainTimeoutMs);
    } catch (error) {
      logger.error('Could not finish everything before stopping; other launchers will clean up', { error });
    }
    await runtime.stop();
    await metrics.close();
    await this.#web?.close();
    this.#web = undefined;
    await zk.close();
    await embedded?.close();
    logger.info('Launcher stopped', { durationMs: clock.now() - beganMs });
  }

  #routes(): RouteTable {
    const { runtime, metrics, clock } = this.#parts;
    return new Map([
      ...createListingRoutes(runtime, clock),
      ...createExplainRoutes(runtime),
      ...createMetricsRoute(metrics),
      ...createStatusRoutes({ notReady: () => this.#notReady(), health: () => this.#health() }),
    ]);
  }

  #notReady(): readonly string[] {
    return this.#draining ? ['stopping'] : this.#parts.runtime.notReady;
  }

  #health() {
    const { version, hostname, zk, runtime, clock } = this.#parts;
    return createHealthReport({
      version,
      hostname,
      startedMs: this.#startedMs,
      nowMs: clock.now(),
      draining: this.#draining,
      config: this.#reloader.config,
      reload: this.#reloader.status,
      zk,
      runtime,
    });
  }
}
