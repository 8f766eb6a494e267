// npm start [-- [--once] [LABEL...]]: all of Nodepool on this machine. See README.md.
import { watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ImageBuilder } from './builder.js';
import { stop } from './child.js';
import type { Child } from './child.js';
import { Cloud } from './cloud.js';
import { LOOPBACK, readConfiguration } from './configuration.js';
import type { QuickStartConfiguration } from './configuration.js';
import { Endpoints } from './endpoints.js';
import { ensureKey } from './keys.js';
import { refuseSecondLauncher, startLauncher, waitUntilReady } from './launcher.js';
import { nodeTable } from './nodepool.js';
import type { Stage } from './elastic-round.js';
import { playRounds } from './rounds.js';
import { MACHINES, Story } from './story.js';
import { QuickStartError, say, show } from './terminal.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const USAGE = 'usage: npm start [-- [--once] [--state-dir DIR] [-c FILE] [LABEL...]]';
const LAUNCHER_GRACE_MS = 10_000;
/** Editors save in several steps. */
const SETTLE_MS = 200;

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        once: { type: 'boolean', default: false },
        'state-dir': { type: 'string', default: join(ROOT, '.nodepool', 'quickstart') },
        help: { type: 'boolean', short: 'h', default: false },
        c: { type: 'string', short: 'c', default: join(ROOT, 'quickstart', 'nodepool.yaml') },
      },
    });
    const { help, once } = values;
    return { help, once, stateDir: resolve(values['state-dir']), file: resolve(values.c), labels: positionals };
  } catch (error) {
    throw new QuickStartError(`${(error as Error).message}\n${USAGE}`);
  }
}

/** Everything that runs, and how it ends. */
class QuickStart {
  readonly #stateDir: string;
  readonly #file: string;
  readonly #endpoints: Endpoints;
  readonly #clientKey: string;
  readonly #cloud: Cloud;
  #configuration: QuickStartConfiguration | undefined;
  #launcher: Child | undefined;
  #builder: ImageBuilder | undefined;
  #story: Story | undefined;
  #closeWatcher = () => {};

  constructor(file: string, stateDir: string) {
    this.#file = file;
    this.#stateDir = stateDir;
    this.#clientKey = join(stateDir, 'client_key');
    this.#cloud = new Cloud(stateDir);
    this.#endpoints = new Endpoints(stateDir, this.#clientKey);
  }

  get configuration(): QuickStartConfiguration {
    if (this.#configuration === undefined) throw new Error('not started');
    return this.#configuration;
  }

  /** Starts the machines, then the launcher, and waits until it serves requests. */
  async start(signal: AbortSignal): Promise<Stage> {
    refuseSecondLauncher(this.#stateDir);
    const temporary = join(this.#stateDir, 'tmp');
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    await ensureKey(this.#clientKey, 'ed25519');
    await this.#configure();
    const { hosts, webPort, file } = this.configuration;
    say(`${hosts.length} SSH endpoints listen on ${LOOPBACK}, ports ${hosts.map(({ port }) => port).join(', ')}`);
    signal.throwIfAborted();
    const env = {
      ...process.env,
      NODEPOOL_CLOUD_DIR: this.#cloud.dir,
      QUICKSTART_KEYS: [this.#clientKey, this.#cloud.key].join(delimiter),
      TMPDIR: temporary,
    };
    const log = join(this.#stateDir, 'launcher.log');
    say(`$ nodepool-launcher -f -c ${relative(ROOT, file)}  (log: ${relative(ROOT, log)})`);
    this.#launcher = await startLauncher(file, this.#stateDir, log, env, this.#cloud);
    await waitUntilReady(this.#launcher, webPort, log, signal);
    const story = await Story.follow(log, MACHINES);
    this.#story = story;
    say(`launcher ready, with a ZooKeeper server of its own; http://${LOOPBACK}:${webPort}/node-list`);
    this.#watch();
    await this.#startBuilder(env);
    const command = { configFile: file, stateDir: this.#stateDir, env, webPort, signal };
    const imageReady = () => this.#builder?.waitForImage(signal) ?? Promise.resolve();
    return { command, story, cloud: this.#cloud, imageReady, fixedSlots: () => this.configuration.slots };
  }

  async #startBuilder(env: NodeJS.ProcessEnv): Promise<void> {
    const { file, hasImages } = this.configuration;
    if (!hasImages) return;
    const log = join(this.#stateDir, 'builder.log');
    await mkdir(join(this.#cloud.dir, 'images'), { recursive: true, mode: 0o700 });
    say(`$ nodepool-builder -f -c ${relative(ROOT, file)}  (log: ${relative(ROOT, log)})`);
    this.#builder = await ImageBuilder.start(file, this.#stateDir, log, env);
  }

  /** Resolves when the launcher ends; while we run it never should. */
  async launcherEnd(): Promise<never> {
    const ended = await this.#launcher?.ended;
    throw new QuickStartError(`the launcher ended with ${ended?.signal ?? `status ${ended?.code}`}`);
  }

  async stop(): Promise<void> {
    this.#closeWatcher();
    await this.#builder?.stop();
    if (this.#launcher) await stop(this.#launcher, LAUNCHER_GRACE_MS);
    await this.#story?.close();
    await this.#cloud.stop();
    await this.#endpoints.close();
  }

  async #configure(): Promise<void> {
    const ours = this.#endpoints.ports;
    if (this.#launcher !== undefined) ours.add(this.configuration.webPort);
    const copy = join(this.#stateDir, 'nodepool.yaml');
    const next = await readConfiguration(this.#file, copy, ours);
    await this.#endpoints.set(next.hosts);
    this.#configuration = next;
  }

  /** Follows changes of the file with machines; the launcher follows them by itself. */
  #watch(): void {
    if (this.configuration.file !== this.#file) return;
    let timer: NodeJS.Timeout | undefined;
    const onChange = () => {
      this.#configure().then(
        () => say(`configuration changed: ${this.configuration.hosts.length} SSH endpoints`),
        (error: unknown) => say(`configuration not usable: ${error instanceof Error ? error.message : String(error)}`),
      );
    };
    const watcher = watch(this.#file, () => {
      clearTimeout(timer);
      timer = setTimeout(onChange, SETTLE_MS);
    });
    this.#closeWatcher = () => {
      clearTimeout(timer);
      watcher.close();
    };
  }
}

function stopOnSignals(): AbortController {
  const controller = new AbortController();
  const onStop = () => {
    if (controller.signal.aborted) return;
    say('stopping ...');
    controller.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onStop);
  // whoever started us is gone
  process.on('disconnect', onStop);
  process.channel?.unref();
  return controller;
}

async function main(): Promise<void> {
  const { help, once, stateDir, file, labels } = readArguments();
  if (help) {
    console.log(USAGE);
    return;
  }
  const { signal } = stopOnSignals();
  const quickStart = new QuickStart(file, stateDir);
  try {
    const stage = await quickStart.start(signal);
    const rounds = playRounds(stage, { once, fixed: labels, current: () => quickStart.configuration });
    await Promise.race([rounds, quickStart.launcherEnd()]);
    show(await nodeTable(stage.command));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await quickStart.stop();
    say('stopped: launcher, builder, cloud and SSH endpoints have ended');
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof QuickStartError ? error.message : error);
  process.exitCode = 1;
}
