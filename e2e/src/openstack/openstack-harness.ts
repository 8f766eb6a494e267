import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts, startSshd, startStatsd, type SshdHandle, type StatsdHandle } from '@nodepool/test-servers';
import { textOf, OpenStack, type AdminApi, type ApiObject } from '@nodepool/openstack';
import { Harness, startGround, type LaunchOptions, type Ground } from '../harness.js';
import { idleNodeProblems } from '../inventory.js';
import type { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import type { ServiceProcess } from '../service-process.js';

/** Password of the user `nodepool`, which tests change and restore. */
export const PASSWORD = 'nodepool';
/** How long deleting what a test left may take: a hundred servers take one. */
const EMPTY_MS = 90_000;

/** Settings of a test. */
export interface OpenStackSetup {
  readonly providers: readonly { readonly pools: readonly unknown[] }[];
  /** Further keys of the file, e.g. `diskimages`. */
  readonly more?: Readonly<Record<string, unknown>>;
}

interface CloudEntry {
  readonly auth: Readonly<Record<string, string>>;
}

interface PoolWithLabels {
  readonly labels: readonly { readonly name: string }[];
}

/** Keys of a pool and of its one label, `small`. */
export interface PoolKeys {
  readonly pool?: Record<string, unknown>;
  readonly label?: Record<string, unknown>;
  /** Keys of the provider. */
  readonly entry?: Record<string, unknown>;
}

/** Servers of a real OpenStack: at rest there are none, and nothing they have left. */
export class OpenStackHarness extends Harness<OpenStackSetup> {
  readonly cloud: OpenStack;
  readonly statsd: StatsdHandle;
  /** Ids of foreign resources, which may remain. */
  readonly foreign = new Set<string>();
  readonly #cloudDir: string;
  readonly #sshd: SshdHandle;
  readonly #sshPort: number;

  private constructor(
    ground: Ground,
    parts: { cloud: OpenStack; cloudDir: string; statsd: StatsdHandle; sshd: SshdHandle; sshPort: number },
  ) {
    super(ground);
    this.cloud = parts.cloud;
    this.statsd = parts.statsd;
    this.#cloudDir = parts.cloudDir;
    this.#sshd = parts.sshd;
    this.#sshPort = parts.sshPort;
  }

  /** Starts everything: the cloud, ZooKeeper, statsd, and an sshd that answers on every address of a server. */
  static async start(): Promise<OpenStackHarness> {
    const kept = process.env['NODEPOOL_OPENSTACK_DIR'];
    const cloudDir = kept ?? (await mkdtemp(join(tmpdir(), 'np-openstack-')));
    const [sshPort = 0] = await freePorts(1);
    const [cloud, ground, statsd, sshd] = await Promise.all([
      OpenStack.start({ dir: cloudDir, log: (line) => console.log(`openstack: ${line}`) }),
      startGround(),
      startStatsd(),
      startSshd({ count: 1, keyTypes: ['ed25519'], options: [`ListenAddress 0.0.0.0:${sshPort}`, 'MaxStartups 200'] }),
    ]);
    const parts = { cloud, cloudDir: kept === undefined ? cloudDir : '', statsd, sshd, sshPort };
    const harness = new OpenStackHarness(ground, parts);
    if (kept !== undefined) await harness.#restoreAll(); // of an interrupted run
    return harness;
  }

  async #restoreAll(): Promise<void> {
    await this.cloud.clearFaults();
    await this.setPassword(PASSWORD);
    await this.cloud.setQuota();
    await emptyProject(this.api);
  }

  /** The host keys that all servers have. */
  get hostKeys(): readonly string[] {
    return this.#sshd.hosts[0]?.hostKeys ?? [];
  }

  /** API client to inspect the project independently of the driver. */
  get api(): AdminApi {
    return this.cloud.api();
  }

  /** A provider with one pool `main`. */
  static setup({ pool = {}, label = {}, entry = {} }: PoolKeys = {}): OpenStackSetup {
    const small = { name: 'small', 'cloud-image': 'test', 'flavor-name': 'm1.tiny', ...label };
    const provider = {
      ...{ name: 'real', driver: 'openstack', cloud: 'nodepool', rate: 0, 'boot-timeout': 60, 'launch-timeout': 300 },
      'cloud-images': [{ name: 'test', 'image-name': 'test-image', username: 'zuul', 'connection-port': 'ssh' }],
      pools: [{ name: 'main', 'max-servers': 110, networks: ['public'], labels: [small], ...pool }],
      ...entry,
    };
    return { providers: [provider] };
  }

  override launch(setup: OpenStackSetup, options: LaunchOptions = {}): Promise<LauncherProcess> {
    const env = {
      OS_CLIENT_CONFIG_FILE: this.cloud.cloudsFile,
      STATSD_HOST: this.statsd.host,
      STATSD_PORT: textOf(this.statsd.port),
      ...options.env,
    };
    return super.launch(setup, { ...options, env });
  }

  /** Changes the password of the user `nodepool` in Keystone, which revokes the tokens; {@link PASSWORD} restores it. */
  async setPassword(password: string): Promise<void> {
    const admin = this.cloud.api('admin');
    const [user] = await admin.list('keystone', '/v3/users?name=nodepool', 'users');
    await admin.call('keystone', 'PATCH', `/v3/users/${textOf(user?.['id'])}`, { user: { password } });
    await pause(1_000); // it revokes by whole seconds: also tokens that are issued in the rest of this one
  }

  /** A copy of `clouds.yaml` for this test. @param password - of the user `nodepool` */
  async writeClouds(password: string): Promise<string> {
    const { clouds } = JSON.parse(await readFile(this.cloud.cloudsFile, 'utf8')) as {
      clouds: { nodepool: CloudEntry };
    };
    const { nodepool } = clouds;
    await mkdir(this.testDir, { recursive: true });
    const file = join(this.testDir, 'clouds.yaml');
    await writeFile(
      `${file}.new`,
      JSON.stringify({ clouds: { nodepool: { ...nodepool, auth: { ...nodepool.auth, password } } } }),
    );
    await rename(`${file}.new`, file);
    return file;
  }

  override startBuilder(setup: OpenStackSetup, name: string): Promise<ServiceProcess> {
    return super.startBuilder(setup, name, { OS_CLIENT_CONFIG_FILE: this.cloud.cloudsFile });
  }

  protected override configOf({ providers, more }: OpenStackSetup): Record<string, unknown> {
    const text = JSON.stringify(providers).replaceAll('"connection-port":"ssh"', `"connection-port":${this.#sshPort}`);
    const pools = providers.flatMap((provider) => provider.pools) as readonly PoolWithLabels[];
    const names = new Set(pools.flatMap(({ labels }) => labels.map(({ name }) => name)));
    return { labels: [...names].map((name) => ({ name })), ...more, providers: JSON.parse(text) as unknown };
  }

  protected override async nodeProblems(): Promise<string[]> {
    const nodes = await idleNodeProblems(this.zk);
    if (nodes.length > 0) return nodes; // asking the services as well would slow down what is waited for
    const left = await Promise.all([
      this.servers().then((all) => all.map(({ name, status }) => `server ${textOf(name)} (${textOf(status)}) is left`)),
      this.#left('neutron', '/v2.0/floatingips', 'floatingips'),
      this.#left('neutron', '/v2.0/ports', 'ports', ({ device_owner: owner }) => textOf(owner).startsWith('compute:')),
      this.#left('cinder', `/v3/${await this.api.projectId()}/volumes/detail`, 'volumes'),
      this.#left('glance', '/v2/images', 'images', ({ name }) => name !== 'test-image'),
    ]);
    return left.flat();
  }

  /** Runs `nodepool` with this configuration. @returns what it printed */
  async runNodepool(config: Record<string, unknown>, args: readonly string[]): Promise<string> {
    const file = join(this.dir, 'nodepool-cli.yaml');
    const servers = this.zookeeper.servers.map(({ host, port }) => ({ host, port }));
    await writeFile(file, JSON.stringify({ 'zookeeper-servers': servers, ...config }));
    const env = { OS_CLIENT_CONFIG_FILE: this.cloud.cloudsFile };
    const nodepool = NodepoolProcess.start(['-c', file, ...args], env);
    const status = await nodepool.end();
    if (status === 0) return nodepool.stdout;
    throw new Error(`nodepool ${args.join(' ')} ended with ${status}: ${nodepool.stderr}`);
  }

  /** Waits until a condition holds. @param everyMs - pause between looks, longer for those that load the cloud */
  async until(what: string, isSo: () => Promise<boolean>, timeoutMs = 60_000, everyMs = 50): Promise<void> {
    const endMs = Date.now() + timeoutMs;
    while (!(await isSo())) {
      if (Date.now() > endMs) throw new Error(`waited ${timeoutMs / 1_000} s for ${what}`);
      await pause(everyMs);
    }
  }

  /** Servers that are not foreign. */
  async servers(): Promise<ApiObject[]> {
    const all = await this.api.list('nova', '/v2.1/servers/detail', 'servers');
    return all.filter(({ id }) => !this.foreign.has(textOf(id)));
  }

  async #left(
    service: 'neutron' | 'cinder' | 'glance',
    path: string,
    key: string,
    counts: (object: ApiObject) => boolean = () => true,
  ): Promise<string[]> {
    const all = await this.api.list(service, path, key);
    return all
      .filter((one) => counts(one) && !this.foreign.has(textOf(one['id'])))
      .map(({ id }) => `${key}: ${textOf(id)} is left`);
  }

  /** Clears all faults, starts what was stopped, and restores the initial limits. */
  async restoreCloud(): Promise<void> {
    await this.cloud.clearFaults();
    await this.cloud.startServices();
    await this.cloud.setQuota();
  }

  /**
   * Also empties the project, whatever the test left there: the next one has another database, whose launchers rightly leave
   * alone what carries the id of this one.
   */
  override async endTest(): Promise<void> {
    await super.endTest();
    this.foreign.clear();
    await emptyProject(this.api);
  }

  override async stop(): Promise<void> {
    await super.stop();
    await Promise.all([this.cloud.stop(), this.statsd.stop(), this.#sshd.stop()]);
    if (this.#cloudDir !== '') await rm(this.#cloudDir, { recursive: true, force: true });
  }
}

/**
 * Deletes all servers, floating IPs, ports, volumes and images but the provisioned one.
 * @throws {Error} something is left after {@link EMPTY_MS}, with its paths
 */
async function emptyProject(api: AdminApi): Promise<void> {
  const project = await api.projectId();
  const all = async (): Promise<string[]> => [
    ...(await api.list('nova', '/v2.1/servers', 'servers')).map(({ id }) => `nova /v2.1/servers/${textOf(id)}`),
    ...(await api.list('neutron', '/v2.0/floatingips', 'floatingips')).map(
      ({ id }) => `neutron /v2.0/floatingips/${textOf(id)}`,
    ),
    ...(await api.list('neutron', '/v2.0/ports', 'ports'))
      .filter(({ device_owner: owner }) => textOf(owner).startsWith('compute:'))
      .map(({ id }) => `neutron /v2.0/ports/${textOf(id)}`),
    ...(await api.list('glance', '/v2/images', 'images'))
      .filter(({ name }) => name !== 'test-image')
      .map(({ id }) => `glance /v2/images/${textOf(id)}`),
    ...(await api.list('cinder', `/v3/${project}/volumes`, 'volumes')).map(
      ({ id }) => `cinder /v3/${project}/volumes/${textOf(id)}`,
    ),
  ];
  const endMs = Date.now() + EMPTY_MS;
  for (let left = await all(); left.length > 0; left = await all()) {
    if (Date.now() > endMs) throw new Error(`the project is not empty after ${EMPTY_MS / 1_000} s: ${left.join(', ')}`);
    for (const one of left) {
      const [service = '', path = ''] = one.split(' ');
      await api.call(service as 'nova', 'DELETE', path).catch(() => undefined); // already deleted together with another object
    }
    await pause(1_000);
  }
}
