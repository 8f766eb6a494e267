import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accepts } from '@nodepool/test-servers';
import { AdminApi, type Caller } from './admin-api.js';
import { configFiles } from './config-files.js';
import { installPackages, packageVersions } from './packages.js';
import { PortBlock } from './port-block.js';
import { ProcessGroup } from './process-group.js';
import { provisionIdentity, provisionResources, QUOTA, setQuota, type QuotaName } from './provision.js';
import { discoverHost, haveReported, installDatabase, makeDatabases, makeTables } from './schemas.js';
import { SERVICE_NAMES, serviceEnv, services, type ServiceDefinition } from './services.js';
import { at, PASSWORDS, portsFrom, urlOf, type Site } from './site.js';

/** Options of a cloud. */
export interface OpenStackOptions {
  /** Its directory; an existing one is reused with the cloud in it. */
  readonly dir: string;
  /** First of eleven ports. Default: the previous ports of the directory, or free ones. */
  readonly portBase?: number;
  /** Lifetime of tokens in seconds. Default 3,600. */
  readonly tokenSeconds?: number;
  /** Maximum page size of Nova's server list. Default 1,000. */
  readonly pageSize?: number;
  /** Called with progress messages. */
  readonly log?: (line: string) => void;
}

const DIRS = [
  ...['etc', 'run', 'log', 'tmp', 'home', 'faults', 'python', 'rabbitmq', 'keystone', 'neutron', 'nova/instances'],
  ...['glance/images', 'glance/staging', 'glance/tasks', 'glance/cache', 'cinder/conversion', 'cinder/coordination'],
  ...['keystone', 'placement', 'glance', 'neutron', 'nova', 'cinder'].map((name) => `lock/${name}`),
];
const CLOUDS_FILE = 'clouds.yaml';
const START_TIMEOUT_MS = 120_000;

/**
 * Debian's Keystone, Placement, Glance, Neutron, Nova and Cinder on loopback, without hypervisor, network agents and
 * storage. API responses come from the unmodified services.
 */
export class OpenStack {
  readonly site: Site;
  readonly #running = new Map<string, ProcessGroup>();
  readonly #definitions: Record<string, ServiceDefinition>;
  readonly #log: (line: string) => void;

  readonly #ports: PortBlock;

  private constructor(ports: PortBlock, { dir, tokenSeconds = 3_600, pageSize = 1_000, log }: OpenStackOptions) {
    this.#ports = ports;
    this.site = { dir, ports: portsFrom(ports.base), tokenSeconds, pageSize };
    this.#definitions = services(this.site);
    this.#log = log ?? (() => undefined);
  }

  /**
   * Installs missing packages and starts all services; resolves when servers can be created.
   * @throws {Error} another program listens on a port of this directory's cloud
   */
  static async start(options: OpenStackOptions): Promise<OpenStack> {
    const known = await portOfLastTime(join(options.dir, CLOUDS_FILE));
    const cloud = new OpenStack(await PortBlock.take(options.portBase ?? known), options);
    try {
      await cloud.#start();
    } catch (error) {
      await cloud.stop();
      throw error;
    }
    return cloud;
  }

  /** Path of `clouds.yaml` with clouds `nodepool`, `admin`, and `nodepool-raw`, which is `nodepool` with raw images. */
  get cloudsFile(): string {
    return at(this.site, CLOUDS_FILE);
  }

  /** API client to inspect and change the cloud independently of the driver. */
  api(caller: Caller = 'nodepool'): AdminApi {
    return new AdminApi(this.site, caller);
  }

  /** Stops all processes, services before their dependencies. */
  async stop(): Promise<void> {
    const base = ['mariadb', 'epmd', 'rabbitmq'];
    await Promise.all(SERVICE_NAMES.filter((name) => !base.includes(name)).map((name) => this.stopService(name)));
    for (const name of ['rabbitmq', 'epmd', 'mariadb']) await this.stopService(name);
    await this.#ports.release();
  }

  async stopService(name: string): Promise<void> {
    await this.#running.get(name)?.stop();
    this.#running.delete(name);
  }

  /** Starts a service and waits until it responds. */
  async startService(name: string): Promise<void> {
    this.#launch(name);
    await this.#whenReady(name);
  }

  /** A paused service accepts connections and never responds. */
  pauseService(name: string): void {
    this.#running.get(name)?.signal('SIGSTOP');
  }

  resumeService(name: string): void {
    this.#running.get(name)?.signal('SIGCONT');
  }

  /** Starts the services that were stopped, continues those that were paused, and waits until all respond. */
  async startServices(): Promise<void> {
    for (const name of SERVICE_NAMES) {
      this.resumeService(name);
      await this.startService(name);
    }
  }

  /** Sets a fault; see `python/`. */
  async setFault(name: string, value: string | number | object): Promise<void> {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    await writeFile(at(this.site, 'tmp', name), text);
    await rename(at(this.site, 'tmp', name), at(this.site, 'faults', name));
  }

  /** Whether a fault with a count is used up. */
  async isFaultUsed(name: string): Promise<boolean> {
    const text = await readFile(at(this.site, 'faults', name), 'utf8');
    if (text === '') return false; // a service is updating the count
    const left = JSON.parse(text) as number | { times?: number };
    return (typeof left === 'number' ? left : left.times) === 0;
  }

  /** Clears one fault or all. */
  async clearFaults(name?: string): Promise<void> {
    if (name !== undefined) await rm(at(this.site, 'faults', name), { force: true });
    else {
      await rm(at(this.site, 'faults'), { recursive: true, force: true });
      await mkdir(at(this.site, 'faults'));
    }
  }

  /** Changes limits of the project; without an argument, restores the initial limits. */
  async setQuota(wanted: Partial<Record<QuotaName, number>> = {}): Promise<void> {
    const all = { ...QUOTA.nova, ...QUOTA.neutron, ...QUOTA.cinder };
    await setQuota(this.site, Object.keys(wanted).length > 0 ? wanted : all);
  }

  /** Changes the lifetime of tokens; restarts Keystone. */
  async setTokenSeconds(seconds: number): Promise<void> {
    const file = 'etc/keystone/keystone.conf';
    await writeFile(at(this.site, file), configFiles({ ...this.site, tokenSeconds: seconds })[file] ?? '');
    await this.stopService('keystone');
    await this.startService('keystone');
  }

  async #start(): Promise<void> {
    const isNew = !existsSync(this.cloudsFile);
    await installPackages();
    await this.#writeFiles();
    this.#log(`starting ${(await packageVersions()).join(', ')}`);
    if (isNew) await installDatabase(this.site);
    for (const name of ['mariadb', 'epmd']) this.#launch(name);
    for (const name of ['mariadb', 'epmd']) await this.#whenReady(name);
    this.#launch('rabbitmq');
    if (isNew) {
      await makeDatabases(this.site);
      await makeTables(this.site);
      this.#log('tables made');
    }
    await this.startService('keystone');
    await this.#whenReady('rabbitmq');
    if (isNew) await provisionIdentity(this.site);
    for (const name of SERVICE_NAMES) if (!this.#running.has(name)) this.#launch(name);
    for (const name of SERVICE_NAMES) await this.#whenReady(name);
    await this.#until('nova-compute to report its host', () => discoverHost(this.site));
    await this.#until('all hosts to be reported', () => haveReported(this.site));
    if (isNew) await provisionResources(this.site);
    await this.#writeClouds();
    this.#log('ready');
  }

  async #writeFiles(): Promise<void> {
    for (const dir of DIRS) await mkdir(at(this.site, dir), { recursive: true });
    for (const [name, text] of Object.entries(configFiles(this.site))) {
      await mkdir(dirname(at(this.site, name)), { recursive: true });
      await writeFile(at(this.site, name), text);
    }
  }

  async #writeClouds(): Promise<void> {
    const entry = (name: Caller) => ({
      region_name: 'RegionOne',
      auth: {
        auth_url: urlOf(this.site, 'keystone', '/v3'),
        username: name,
        password: name === 'admin' ? PASSWORDS.admin : PASSWORDS.user,
        project_name: name,
        user_domain_name: 'Default',
        project_domain_name: 'Default',
      },
    });
    const nodepool = entry('nodepool');
    const clouds = { nodepool, admin: entry('admin'), 'nodepool-raw': { ...nodepool, image_format: 'raw' } };
    await writeFile(this.cloudsFile, `${JSON.stringify({ clouds }, undefined, 2)}\n`, { mode: 0o600 });
  }

  #launch(name: string): void {
    const definition = this.#definitions[name];
    if (!definition) throw new Error(`there is no service "${name}"`);
    if (this.#running.get(name)?.isRunning) return;
    const logFile = at(this.site, 'log', `${name}.log`);
    const env = serviceEnv(this.site, definition);
    this.#running.set(name, new ProcessGroup({ name, command: definition.command, env, logFile }));
  }

  async #whenReady(name: string): Promise<void> {
    const { port, url } = this.#definitions[name] ?? {};
    const group = this.#running.get(name);
    await this.#until(`${name} to answer`, async () => {
      if (!group?.isRunning) throw new Error(`${name} ended:\n${group?.lastWords ?? ''}`);
      if (url !== undefined) return answers(url);
      return port === undefined || accepts(this.site.ports[port], '127.0.0.1');
    });
  }

  /** Polls, as the services emit no event when they are ready. */
  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = Date.now() + START_TIMEOUT_MS;
    while (!(await isSo())) {
      if (Date.now() > endMs)
        throw new Error(`waited ${START_TIMEOUT_MS / 1_000} s for ${what}; see ${at(this.site, 'log')}`);
      await pause(200);
    }
  }
}

/** A kept cloud reuses its ports, because its catalogue contains them. */
async function portOfLastTime(cloudsFile: string): Promise<number | undefined> {
  if (!existsSync(cloudsFile)) return undefined;
  const text = await readFile(cloudsFile, 'utf8');
  const found = /127\.0\.0\.1:(\d+)\/v3/.exec(text)?.[1];
  if (found === undefined) throw new Error(`${cloudsFile} names no port of Keystone: is it of a test cloud?`);
  return Number(found);
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(10_000) })).status < 500;
  } catch {
    return false; // nothing listens yet
  }
}
