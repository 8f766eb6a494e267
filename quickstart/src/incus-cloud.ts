import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { missingPrograms, packTinyImage } from '@nodepool/incus';
import type { Cloud } from './cloud.js';
import { findSocket, IncusApi } from './incus-api.js';
import { QuickStartError, say } from './terminal.js';

type Devices = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the machines of this configuration need of the default profile. */
const NEEDED = [
  { what: 'root disk', is: ({ type, path }: Devices[string]) => type === 'disk' && path === '/' },
  { what: 'network', is: ({ type }: Devices[string]) => type === 'nic' },
];

/** Time to delete everything, after which its errors are final. */
const REMOVAL_MS = 20_000;
const PAUSE_MS = 500;

/**
 * Containers of the user's Incus or LXD, in a project of its own, which is deleted at the end with all that is in it. Each run starts
 * from nothing: records of an earlier one would name images that are gone.
 */
export class IncusCloud implements Cloud {
  readonly dir: string;
  readonly key: string;
  readonly stopCommand = undefined;
  readonly #socket: string;
  /** Data of the embedded ZooKeeper server. */
  readonly #records: string;
  readonly #project: string;
  readonly #api: IncusApi;
  #isPrepared = false;

  /** @param key - private key, beside which its public key is: the image accepts it */
  constructor(stateDir: string, key: string, env: NodeJS.ProcessEnv = process.env) {
    this.dir = join(stateDir, 'incus');
    this.#records = join(stateDir, 'zookeeper');
    this.key = key;
    this.#socket = findSocket(env);
    this.#project = `nodepool-quickstart-${createHash('sha256').update(stateDir).digest('hex').slice(0, 8)}`;
    this.#api = new IncusApi(this.#socket, this.#project);
  }

  get env(): Record<string, string> {
    return {
      NODEPOOL_CLOUD_DIR: this.dir,
      NODEPOOL_INCUS_ADDRESS: `unix:${this.#socket}`,
      NODEPOOL_INCUS_PROJECT: this.#project,
      NODEPOOL_ROOTFS: join(this.dir, 'rootfs.tar'),
    };
  }

  async prepare(): Promise<void> {
    const missing = await missingPrograms();
    if (missing.length > 0) {
      const packages = 'apt-get install --no-install-recommends busybox-static dropbear-bin';
      throw new QuickStartError(
        `--incus makes an image of programs of this machine; missing: ${missing.join(', ')}. ${packages}`,
      );
    }
    const devices = await this.#defaultDevices();
    await this.#makeProject(devices);
    for (const dir of [this.dir, this.#records]) await rm(dir, { recursive: true, force: true });
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
    const image = await packTinyImage(await readFile(`${this.key}.pub`, 'utf8'), this.dir);
    await rename(image.rootfs, join(this.dir, 'rootfs.tar'));
    await image.remove();
  }

  async countMachines(): Promise<number> {
    return (await this.#list('/instances')).length;
  }

  async stop(): Promise<void> {
    try {
      if (this.#isPrepared) await this.#removeProject();
    } finally {
      await this.#api.close();
    }
  }

  /** Devices of the default profile, which machines get as well. */
  async #defaultDevices(): Promise<Devices> {
    const server = (await this.#api.call('GET', '')) as { environment?: { server?: string; server_version?: string } };
    const { server: name = 'daemon', server_version: version = '' } = server.environment ?? {};
    const api = new IncusApi(this.#socket, 'default');
    const profile = (await api.call('GET', '/profiles/default').finally(() => api.close())) as { devices: Devices };
    for (const { what, is } of NEEDED) {
      if (Object.values(profile.devices).some(is)) continue;
      const client = name === 'incus' ? 'incus admin init --minimal' : 'lxd init --auto';
      throw new QuickStartError(
        `the default profile of ${name} ${version} has no ${what}: "${client}" makes a storage pool and a network, or add one with "profile device add"`,
      );
    }
    say(
      `${name} ${version} at ${this.#socket}: containers in the project ${this.#project}, which is deleted at the end`,
    );
    return profile.devices;
  }

  async #makeProject(devices: Devices): Promise<void> {
    const config = { 'features.images': 'true', 'features.profiles': 'true', 'features.storage.volumes': 'true' };
    this.#isPrepared = true;
    if ((await this.#api.call('GET', `/projects/${this.#project}`)) !== undefined) {
      say('deleting the project of an earlier run, which was killed, with all that is in it');
      await this.#removeProject();
    }
    await this.#api.call('POST', '/projects', { name: this.#project, config });
    await this.#api.call('PUT', '/profiles/default', { config: {}, devices, description: '' });
  }

  /** Repeated, as the daemon may still work on what the launcher has begun. */
  async #removeProject(): Promise<void> {
    const deadline = performance.now() + REMOVAL_MS;
    for (;;) {
      try {
        return await this.#removeAll();
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await delay(PAUSE_MS);
      }
    }
  }

  /** Nothing in the project is of others: its name has the hash of the state directory. */
  async #removeAll(): Promise<void> {
    for (const { name, status } of await this.#list<{ name: string; status: string }>('/instances')) {
      const path = `/instances/${name}`;
      if (status !== 'Stopped')
        await this.#api.call('PUT', `${path}/state`, { action: 'stop', force: true, timeout: 0 });
      await this.#api.call('DELETE', path);
    }
    for (const { fingerprint } of await this.#list<{ fingerprint: string }>('/images')) {
      await this.#api.call('DELETE', `/images/${fingerprint}`);
    }
    await this.#api.call('DELETE', `/projects/${this.#project}`);
  }

  async #list<T>(path: string): Promise<readonly T[]> {
    return ((await this.#api.call('GET', `${path}?recursion=1`)) ?? []) as readonly T[];
  }
}
