import { setTimeout as pause } from 'node:timers/promises';
import { textOf } from '@nodepool/openstack';
import type { LauncherProcess } from '../launcher-process.js';
import { type OpenStackHarness, type OpenStackSetup } from '../openstack/openstack-harness.js';
import type { HeldNode, ZuulClient } from '../zuul-client.js';
import type { Looked } from './instruments.js';
import type { LaunchOptions } from '../harness.js';

/** Jobs wait that long for nodes, and between nodes. */
const WAIT_MS = 900_000;
const BETWEEN_MS = 2_000;

/** Two launchers on the real OpenStack, and jobs that take a node of each label and give it back, again and again. */
export class Stage {
  /** The newest request of the label that jobs used first. */
  request: string | undefined;
  #firstLabel: string | undefined;
  #isOver = false;

  private constructor(
    readonly harness: OpenStackHarness,
    readonly setup: OpenStackSetup,
    readonly launchers: readonly [LauncherProcess, LauncherProcess],
    readonly zuul: ZuulClient,
  ) {}

  /** Starts launchers. @param second - options of the second one */
  static async start(harness: OpenStackHarness, setup: OpenStackSetup, second: LaunchOptions = {}): Promise<Stage> {
    const launchers = await Promise.all([
      harness.launch(setup, { name: 'first' }),
      harness.launch(setup, { ...second, name: 'second' }),
    ]);
    return new Stage(harness, setup, launchers, await harness.newClient());
  }

  /** What operators look at. */
  get looked(): Looked {
    const explained = this.request === undefined ? ['--label', 'small'] : [this.request];
    return {
      launchers: this.launchers,
      env: { OS_CLIENT_CONFIG_FILE: this.harness.cloud.cloudsFile },
      explained,
    };
  }

  /** Has jobs use a label until the end. Resolves after the first, if that is served soon. */
  async work(label: string): Promise<void> {
    this.#firstLabel ??= label;
    const loop = async (): Promise<void> => {
      while (!this.#isOver) {
        await this.#job(label);
        await pause(BETWEEN_MS);
      }
    };
    const ended = loop().catch((error: unknown) => {
      if (!this.#isOver) console.log(`jobs for ${label} ended: ${String(error)}`);
    });
    await Promise.race([ended, pause(2 * BETWEEN_MS)]);
  }

  async #job(label: string): Promise<void> {
    const id = await this.zuul.submit([label]);
    if (label === this.#firstLabel) this.request = id;
    const { state } = await this.zuul.wait(id, WAIT_MS);
    if (state !== 'fulfilled') return this.zuul.cancel(id);
    const nodes = await this.zuul.accept(id);
    await this.zuul.use(nodes);
    await this.zuul.giveBack(nodes);
  }

  /** Takes a node of the label `small`, which stays in use. */
  async takeNode(): Promise<HeldNode> {
    const [node] = await this.zuul.take(await this.zuul.submit(['small']), WAIT_MS);
    if (!node) throw new Error('a request was fulfilled without a node');
    return node;
  }

  /** Makes a server that no launcher has ordered. */
  async makeServer(metadata: Record<string, string> = {}): Promise<void> {
    const { api } = this.harness;
    const idOf = async (service: 'nova' | 'neutron' | 'glance', path: string, key: string, name: string) =>
      textOf((await api.list(service, path, key)).find((one) => one['name'] === name)?.['id']);
    const server = {
      ...{ name: 'other', metadata },
      networks: [{ uuid: await idOf('neutron', '/v2.0/networks', 'networks', 'public') }],
      flavorRef: await idOf('nova', '/v2.1/flavors', 'flavors', 'm1.tiny'),
      imageRef: await idOf('glance', '/v2/images', 'images', 'test-image'),
    };
    await api.call('nova', 'POST', '/v2.1/servers', { server });
  }

  /** No job begins any more. */
  stopWork(): void {
    this.#isOver = true;
  }
}
