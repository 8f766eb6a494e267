import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import { readWebCertificate } from '@nodepool/core/config';
import { unfinishedAfter, type LogFailure } from '@nodepool/core/service';
import type { Config, Logger } from '@nodepool/core';
import { CpuProfiler } from './cpu-profile.js';
import type { EmbeddedZooKeeper } from './embedded-zookeeper.js';
import { createHealthReport } from './health.js';
import { ServiceConditions } from './service-conditions.js';
import { Reloader, WEBAPP_NAMES, type WebappKey } from './reloader.js';
import type { DaemonRuntime } from './runtime.js';
import { describeProcess } from './state-dump.js';
import { withConditions } from './web/api/condition-api.js';
import { ServiceWeb } from './web/api/service-web.js';
import { WebGate } from './web/gate.js';
import { LocalSocket } from './web/local-socket.js';
import { createMetricsRoute, type ServiceMetrics } from './web/metrics-route.js';
import type { RouteTable } from './web/routes.js';
import { startWebServer, type WebServer } from './web/server.js';
import { createStatusRoutes } from './web/status-routes.js';

/** Parts of a {@link DaemonService}. */
export interface ServiceParts {
  /** Name of the program. */
  readonly name: string;
  readonly config: Config;
  readonly zk: ZooKeeper;
  /** The embedded ZooKeeper server of this process, if the configuration names no servers. */
  readonly embedded: EmbeddedZooKeeper | undefined;
  readonly runtime: DaemonRuntime;
  /** Closed with the service. */
  readonly metrics: ServiceMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Log files that cannot be written now. */
  readonly logFailures?: (() => readonly LogFailure[]) | undefined;
  readonly version: string;
  readonly hostname: string;
  /** Configuration key with the address of the web server; `undefined`: no web server. */
  readonly webapp: WebappKey | undefined;
  /** Where users of this computer find the socket of the web server; `undefined`: there is none. */
  readonly socketDir?: string | undefined;
  /** Directories for CPU profiles, in order of preference. */
  readonly profileDirs: readonly string[];
  /** Reads the configuration; the signal aborts loading drivers. */
  loadConfig(signal?: AbortSignal): Promise<Config>;
  /** Applies settings outside the runtime, such as the list of ZooKeeper servers. */
  applyConfig(config: Config): Promise<void>;
}

/** Addresses that listen on all interfaces. */
const WILDCARDS = new Set(['0.0.0.0', '::']);
/** Share of the drain timeout reserved for closing connections. Closing a session with a dead server takes a second. */
const CLOSING_MS = 1_500;
const LEAST_CLOSING_MS = 500;
/** How long a service that is replaced waits for orders in clouds. */
const ORDERS_MS = 2_000;

/** A running service: its runtime, web server, conditions and reactions to signals. */
export class DaemonService {
  readonly #parts: ServiceParts;
  readonly #reloader: Reloader;
  readonly #conditions: ServiceConditions;
  readonly #profiler: CpuProfiler;
  readonly #startedMs: number;
  #web: WebServer | undefined;
  #local: LocalSocket | undefined;
  #pages: ServiceWeb | undefined;
  #draining = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.now();
    this.#profiler = new CpuProfiler(parts.name, parts.profileDirs);
    this.#reloader = new Reloader({
      initial: parts.config,
      webapp: parts.webapp,
      load: (signal) => parts.loadConfig(signal),
      apply: async (config) => {
        this.#useCertificate(config);
        await parts.applyConfig(config);
        await parts.runtime.reconfigure(config);
      },
      logger: parts.logger,
      now: () => parts.clock.now(),
    });
    const { runtime, zk, clock, hostname, metrics, name } = parts;
    const service = `${name.replace('nodepool-', '')} ${hostname.split('.', 1)[0] ?? hostname}`;
    const usesEmbedded = parts.config.zookeeper.servers.length === 0;
    this.#conditions = new ServiceConditions({
      ...{ source: runtime.conditions, reloader: this.#reloader, zk, clock, hostname, usesEmbedded, service },
      logFailures: parts.logFailures,
    });
    metrics.showConditions(this.#conditions.list);
  }

  /** Address of the web server; `undefined` if it is not listening. */
  get web(): Pick<WebServer, 'host' | 'port'> | undefined {
    return this.#web;
  }

  /** URL of the web server for other programs; has the host name if the server listens on all addresses. */
  get webUrl(): string | undefined {
    if (!this.#web) return undefined;
    const { host, port } = this.#web;
    const name = WILDCARDS.has(host) ? this.#parts.hostname : host;
    const { config, webapp } = this.#parts;
    const scheme = webapp && config[webapp].tls ? 'https' : 'http';
    return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`;
  }

  /** True once {@link DaemonService.stop} was called. */
  get stopping(): boolean {
    return this.#draining;
  }

  /** Starts the web server, so that `/ready` can report parts that are not ready. @throws NODEPOOL_WEB_LISTEN */
  async listen(): Promise<void> {
    const { config, webapp, clock, logger, name, version, hostname, runtime } = this.#parts;
    if (webapp === undefined) return;
    const local = this.#localSocket(webapp);
    const gate = new WebGate(hostname, () => this.#reloader.config[webapp], local);
    this.#pages = new ServiceWeb({
      ...{ clock, logger: logger.child({}, 'web'), name, version, hostname, gate },
      api: withConditions(runtime.api(this.#conditions), this.#conditions),
      config: () => this.#reloader.config,
      health: () => this.#health(),
    });
    const { listenAddress, port, tls } = config[webapp];
    this.#web = await startWebServer({
      ...{
        host: listenAddress,
        port,
        section: WEBAPP_NAMES[webapp],
        certificate: tls && readWebCertificate(tls),
        gate,
      },
      tokens: () => this.#reloader.config.apiTokens,
      routes: this.#routes(),
      application: this.#pages.application,
      clock,
      logger: logger.child({}, 'web'),
    });
    this.#local = local;
    await local
      ?.listen(this.#web.handler)
      .catch((error: unknown) => logger.warn('No socket for local users', { error }));
  }

  /** Resolves when the service serves requests. */
  async start(): Promise<void> {
    const { name, runtime, logger, clock } = this.#parts;
    await runtime.start(this.webUrl);
    logger.info('Service started', {
      program: name,
      durationMs: clock.now() - this.#startedMs,
      ...runtime.startedFields(),
    });
    this.#conditions.start();
  }

  /** Files that are in use besides the configuration itself: those of providers, and the certificate. */
  get moreFiles(): readonly string[] {
    const { config } = this.#reloader;
    const { certFile, keyFile } = (this.#parts.webapp && config[this.#parts.webapp].tls) ?? {};
    const files = [...[...config.providers.values()].flatMap(({ files = [] }) => files), certFile, keyFile];
    return [...new Set(files.filter((file) => file !== undefined))];
  }

  /** Reloads the configuration. Never rejects; an invalid one changes nothing. */
  async reload(): Promise<void> {
    await this.#reloader.reload();
    this.#conditions.check();
  }

  /** Writes the state to the debug log, and starts or writes a CPU profile. */
  async dump(): Promise<void> {
    const { runtime, zk, clock, logger } = this.#parts;
    const dumpLogger = logger.child({}, 'stack_dump');
    for (const line of [...runtime.dump(clock.now()), ...describeProcess(zk)]) dumpLogger.debug(line);
    try {
      const file = await this.#profiler.toggle(clock.now());
      if (file === undefined)
        dumpLogger.info('State is in the debug log; CPU profile started, the next SIGUSR2 writes it');
      else dumpLogger.info('CPU profile written', { file });
    } catch (error) {
      dumpLogger.error('CPU profile failed', { error });
    }
  }

  /** Drains and stops the runtime and closes all connections within the given time. Logs work left unfinished. Never rejects. */
  async stop(drainTimeoutMs: number): Promise<void> {
    const { name, runtime, logger, clock } = this.#parts;
    this.#draining = true;
    this.#conditions.stop();
    const beganMs = clock.now();
    const closingMs = Math.min(CLOSING_MS, Math.max(drainTimeoutMs / 2, LEAST_CLOSING_MS));
    let haveEnded = false;
    try {
      await runtime.drain(Math.max(0, drainTimeoutMs - closingMs));
      haveEnded = await this.#endOrders();
      await runtime.stop();
    } catch (error) {
      logger.error('Stopped with unfinished work; other services will clean up', { error });
    }
    await this.#close(closingMs, haveEnded);
    logger.info('Service stopped', { program: name, durationMs: clock.now() - beganMs });
  }

  /**
   * Stops and leaves all work to a successor. Orders that clouds are carrying out end first, for a short time; then the session is
   * closed, so that nothing that ends here is written as failed. Never rejects.
   */
  async handOver(): Promise<void> {
    const { name, runtime, logger, clock } = this.#parts;
    this.#draining = true;
    this.#conditions.stop();
    await this.#close(CLOSING_MS, await this.#endOrders());
    const stopped = runtime.stop().catch((error: unknown) => logger.warn('Stopped with an error', { error }));
    await unfinishedAfter(LEAST_CLOSING_MS, clock, new Map([['the runtime', stopped]]));
    logger.info('Service stopped; its work is left to others', { program: name });
  }

  /**
   * A successor does not see an order that a cloud has yet to carry out, and would give another.
   * @returns whether all have ended
   */
  async #endOrders(): Promise<boolean> {
    const { runtime, logger, clock } = this.#parts;
    const orders = new Map([['orders in clouds', runtime.endOrders?.() ?? Promise.resolve()]]);
    const unfinished = await unfinishedAfter(ORDERS_MS, clock, orders);
    if (unfinished.length > 0)
      logger.warn('Orders in clouds have not ended: others take over once the session expires');
    return unfinished.length === 0;
  }

  /** @param endsSession - else it expires: clouds get that time for orders that were given, as after a crash */
  async #close(limitMs: number, endsSession: boolean): Promise<void> {
    const { metrics, zk, embedded, logger, clock } = this.#parts;
    const [web, local] = [this.#web, this.#local];
    this.#web = undefined;
    this.#local = undefined;
    this.#pages?.close();
    const zookeeper = endsSession ? zk.close() : Promise.resolve(zk.leave());
    const tasks = new Map<string, Promise<unknown>>([
      ['the ZooKeeper session', zookeeper],
      ['the embedded ZooKeeper server', zookeeper.then(() => embedded?.close())],
      ['metrics', metrics.close()],
      ['the web server', web?.close() ?? Promise.resolve()],
      ['the local socket', local?.close() ?? Promise.resolve()],
    ]);
    try {
      const unfinished = await unfinishedAfter(limitMs, clock, tasks);
      if (unfinished.length > 0) logger.warn('Timed out closing connections', { unfinished, limitMs });
    } catch (error) {
      logger.error('Failed to close connections; the ZooKeeper session will expire', { error });
    }
  }

  /** The files may have changed even if the configuration has not. @throws {Error} they cannot be used */
  #useCertificate(config: Config): void {
    const { webapp } = this.#parts;
    const tls = webapp && config[webapp].tls;
    if (tls) this.#web?.setCertificate(readWebCertificate(tls));
  }

  #localSocket(webapp: WebappKey): LocalSocket | undefined {
    const { config, socketDir: stateDir, hostname, clock, logger } = this.#parts;
    const { socketAccess: access = 'none' } = config[webapp];
    if (stateDir === undefined || access === 'none') return undefined;
    return new LocalSocket({ stateDir, access, hostname, clock, logger: logger.child({}, 'web') });
  }

  #routes(): RouteTable {
    const { runtime, metrics } = this.#parts;
    return new Map([
      ...runtime.routes(this.#conditions),
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
      runtime,
      zk,
      conditions: this.#conditions.current,
    });
  }
}
