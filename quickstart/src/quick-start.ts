import { watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { QuickStartArguments } from './arguments.js';
import { ImageBuilder } from './builder.js';
import { stop } from './child.js';
import type { Child } from './child.js';
import type { Cloud } from './cloud.js';
import { LOOPBACK, readConfiguration } from './configuration.js';
import type { QuickStartConfiguration } from './configuration.js';
import { Endpoints } from './endpoints.js';
import { FakeCloud } from './fake-cloud.js';
import { IncusCloud } from './incus-cloud.js';
import { ensureKey } from './keys.js';
import { refuseSecondLauncher, startLauncher, waitUntilReady } from './launcher.js';
import { followPicture } from './picture.js';
import type { Stage } from './elastic-round.js';
import { playRounds } from './rounds.js';
import { MACHINES, Story } from './story.js';
import { QuickStartError, say, show } from './terminal.js';

const LAUNCHER_GRACE_MS = 10_000;
/** Editors save in several steps. */
const SETTLE_MS = 200;

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

  readonly #key: string | undefined;
  #closePicture = () => {};

  constructor({ file, stateDir, key, incus }: QuickStartArguments) {
    this.#file = file;
    this.#key = key;
    this.#stateDir = stateDir;
    this.#clientKey = join(stateDir, 'client_key');
    this.#cloud = incus ? new IncusCloud(stateDir, this.#clientKey) : new FakeCloud(stateDir);
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
    await this.#cloud.prepare();
    await this.#configure();
    const { hosts, webPort, file } = this.configuration;
    if (hosts.length > 0)
      say(
        `${hosts.length} ${hosts.length === 1 ? 'machine' : 'machines'} to lend: SSH servers on ${LOOPBACK}, ports ${portsOf(hosts)}`,
      );
    signal.throwIfAborted();
    const env = {
      ...process.env,
      ...this.#cloud.env,
      QUICKSTART_KEYS: [this.#clientKey, this.#cloud.key].join(delimiter),
      TMPDIR: temporary,
    };
    const log = join(this.#stateDir, 'launcher.log');
    this.#launcher = await startLauncher(file, this.#stateDir, log, env, this.#cloud);
    await waitUntilReady(this.#launcher, webPort, log, signal);
    const story = await Story.follow(log, MACHINES);
    this.#story = story;
    say(`Nodepool is ready. Status page: http://${LOOPBACK}:${webPort}/`);
    this.#watch();
    await this.#startBuilder(env);
    const command = { configFile: file, stateDir: this.#stateDir, env, webPort, signal, key: this.#key };
    this.#closePicture = followPicture(command);
    const imageReady = () => this.#builder?.waitForImage(signal) ?? Promise.resolve();
    return { command, story, cloud: this.#cloud, imageReady, fixedSlots: () => this.configuration.slots };
  }

  async #startBuilder(env: NodeJS.ProcessEnv): Promise<void> {
    const { file, hasImages } = this.configuration;
    if (!hasImages) return;
    const log = join(this.#stateDir, 'builder.log');
    await mkdir(join(this.#cloud.dir, 'images'), { recursive: true, mode: 0o700 });
    this.#builder = await ImageBuilder.start(file, this.#stateDir, log, env);
  }

  /** Resolves when the launcher ends; while we run it never should. */
  async launcherEnd(): Promise<never> {
    const ended = await this.#launcher?.ended;
    const log = join(this.#stateDir, 'launcher.log');
    throw new QuickStartError(`the launcher ended with ${ended?.signal ?? `status ${ended?.code}`}; its log: ${log}`);
  }

  async stop(): Promise<void> {
    this.#closePicture();
    this.#closeWatcher();
    await this.#builder?.stop();
    if (this.#launcher) await stop(this.#launcher, LAUNCHER_GRACE_MS);
    await this.#story?.close();
    await this.#endpoints.close();
    await this.#cloud.stop(); // the last, as the others end also if it fails
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
        () => say('the configuration has changed: it is in force'),
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
  // the parent process is gone
  process.on('disconnect', onStop);
  process.channel?.unref();
  return controller;
}

/** What to do after having seen it. */
const NEXT_STEPS = `
What next?
  1. Use your own machines:        npx nodepool init you@host1 you@host2
     then start the service:       npx nodepool-launcher -f -c nodepool.yaml
  2. Run a command on one:         npx nodepool -c nodepool.yaml ssh linux -- uname -a
     from Jenkins, GitHub, GitLab: README.md, "Use it from a script"
  3. Use machines of a cloud:      npx nodepool init --cloud openstack -c cloud.yaml
     or your Incus or LXD:         npx nodepool init --cloud incus -c cloud.yaml, docs/incus.md`;

const portsOf = (hosts: readonly { readonly port: number }[]): string => hosts.map(({ port }) => port).join(', ');

/** Runs rounds until Ctrl-C, or once; everything has ended when it resolves. @throws QuickStartError */
export async function run(options: QuickStartArguments): Promise<void> {
  const { once, labels } = options;
  const { signal } = stopOnSignals();
  const quickStart = new QuickStart(options);
  try {
    const stage = await quickStart.start(signal);
    const rounds = playRounds(stage, { once, fixed: labels, current: () => quickStart.configuration });
    await Promise.race([rounds, quickStart.launcherEnd()]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await quickStart.stop();
  }
  say('everything that npm start has started has ended');
  show(NEXT_STEPS);
}
