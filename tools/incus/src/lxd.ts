import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensureDebianPackages, run } from '@nodepool/test-servers';
import { ownDirectory, takeOverDirectory } from './owner.js';
import type { TinyImage } from './tiny-image.js';

/** Debian's packages of a daemon and its command line, and what its networks need. */
const PACKAGES = ['lxd', 'lxd-client', 'dnsmasq-base', 'iptables', 'iproute2', 'util-linux'];
const READY_S = 60;
const STOP_MS = 30_000;
const PREFIX = 'np-lxd-';
/** Name of the file with the first three bytes of the subnet. */
const SUBNET = 'subnet';

/** A real LXD from Debian: in a directory of its own, on a Unix socket and a bridge without a way out. Needs root. */
export class Lxd {
  readonly dir: string;
  readonly bridge: string;
  readonly #subnet: string;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();

  private constructor(dir: string, subnet: string) {
    this.dir = dir;
    this.#subnet = subnet;
    this.bridge = `np${subnet.split('.').slice(1).join('x')}`;
  }

  /**
   * Installs missing packages, starts a daemon, and makes a storage pool, a network and the default profile.
   * @param storage - driver of the pool: `btrfs` is copy-on-write, on a file
   */
  static async start(storage: 'dir' | 'btrfs' = 'dir'): Promise<Lxd> {
    if (process.getuid?.() !== 0) throw new Error('a test LXD needs root');
    await ensureDebianPackages(storage === 'btrfs' ? [...PACKAGES, 'btrfs-progs'] : PACKAGES);
    await removeLeftovers();
    const dir = await mkdtemp(join(tmpdir(), PREFIX));
    const lxd = new Lxd(dir, `10.${randomInt(64, 128)}.${randomInt(0, 256)}`);
    await writeFile(join(dir, SUBNET), lxd.#subnet);
    await ownDirectory(dir);
    await lxd.startDaemon();
    try {
      await lxd.lxc(['storage', 'create', 'default', storage, ...(storage === 'btrfs' ? ['size=5GiB'] : [])]);
      const network = [`ipv4.address=${lxd.#subnet}.1/24`, 'ipv4.nat=false', 'ipv6.address=none'];
      await lxd.lxc(['network', 'create', lxd.bridge, '--type=bridge', ...network]);
      await lxd.lxc(['profile', 'device', 'add', 'default', 'root', 'disk', 'path=/', 'pool=default']);
      await lxd.lxc(['profile', 'device', 'add', 'default', 'eth0', 'nic', 'name=eth0', `network=${lxd.bridge}`]);
      return lxd;
    } catch (error) {
      await lxd.stop();
      throw error;
    }
  }

  /** The daemon of a run that was killed, in the directory that it left. It is not running. */
  static async of(dir: string): Promise<Lxd> {
    return new Lxd(dir, await readFile(join(dir, SUBNET), 'utf8'));
  }

  /** Value of `address` of a provider. */
  get address(): string {
    return `unix:${join(this.dir, 'unix.socket')}`;
  }

  /** Last lines of the log of the daemon. */
  get log(): string {
    return readFileSync(join(this.dir, 'daemon.log'), 'utf8').slice(-5_000);
  }

  /** Starts the daemon, also after {@link kill}. */
  async startDaemon(): Promise<void> {
    const log = openSync(join(this.dir, 'daemon.log'), 'a');
    const options = { stdio: ['ignore', log, log] as ['ignore', number, number], env: this.#env };
    // ends with this process, even if that is killed
    this.#child = spawn('/usr/bin/setpriv', ['--pdeathsig', 'TERM', 'lxd', '--group', 'root'], options);
    closeSync(log);
    const child = this.#child;
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    await run('lxd', ['waitready', `--timeout=${READY_S}`], { env: this.#env });
  }

  /** Kills the daemon; its containers continue to run. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  /** Runs `lxc`. @returns what it printed */
  async lxc(args: readonly string[]): Promise<string> {
    const running = run('lxc', [...args], { env: this.#env, maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin?.end(); // it reads a configuration from there
    return (await running).stdout;
  }

  /** Names of instances. */
  async instances(): Promise<string[]> {
    return linesOf(await this.lxc(['list', '--format=csv', '--columns=n']));
  }

  /** Fingerprints of images. */
  async images(): Promise<string[]> {
    return linesOf(await this.lxc(['image', 'list', '--format=csv', '--columns=F']));
  }

  /** Storage volumes of instances, which outlive them only by mistake. */
  async volumes(): Promise<string[]> {
    const all = linesOf(await this.lxc(['storage', 'volume', 'list', 'default', '--format=csv', '--columns=tn']));
    return all.filter((line) => !line.startsWith('image'));
  }

  /** Names of profiles. */
  async profiles(): Promise<string[]> {
    return linesOf(await this.lxc(['profile', 'list', '--format=csv'])).map((line) => line.split(',')[0] ?? '');
  }

  /** Imports an image under an alias. */
  async importImage({ metadata, rootfs }: TinyImage, alias: string): Promise<void> {
    await this.lxc(['image', 'import', metadata, rootfs, '--alias', alias]);
  }

  /** Deletes everything, and ends the daemon. Leaves no process, bridge, mount or file. */
  async stop(): Promise<void> {
    if (this.#child?.exitCode !== null || this.#child.signalCode !== null) await this.startDaemon();
    for (const name of await this.instances()) await this.lxc(['delete', '--force', name]);
    await this.lxc(['profile', 'device', 'remove', 'default', 'eth0']).catch(() => undefined);
    await this.lxc(['network', 'delete', this.bridge]).catch(() => undefined);
    await run('lxd', ['shutdown', `--timeout=${STOP_MS / 1_000}`], { env: this.#env }).catch(() => undefined);
    await Promise.race([this.#exited, pause(STOP_MS, undefined, { ref: false })]);
    await this.kill();
    await unmountBelow(this.dir);
    await removeLinks(await addressesIn(this.dir));
    await rm(this.dir, { recursive: true, force: true });
  }

  get #env(): Record<string, string> {
    const { PATH = '/usr/sbin:/usr/bin:/sbin:/bin', HOME = '/root' } = process.env;
    return { PATH, HOME, LXD_DIR: this.dir };
  }
}

/** Stops what killed test runs have left, in directories of their own. What cannot be stopped stays. */
async function removeLeftovers(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX));
  for (const dir of names.map((name) => join(tmpdir(), name))) {
    try {
      if (await takeOverDirectory(dir)) await (await Lxd.of(dir)).stop();
    } catch (error) {
      console.error(`${dir} of a killed test run is left: ${(error as Error).message}`);
    }
  }
}

/** Hardware addresses of the network devices of all containers that a daemon has started. */
async function addressesIn(dir: string): Promise<Set<string>> {
  const logs = join(dir, 'logs');
  const texts = (await readdir(logs)).map((name) => readFile(join(logs, name, 'lxc.conf'), 'utf8').catch(() => ''));
  const found = (await Promise.all(texts)).flatMap((text) => [...text.matchAll(/^lxc\.net\.\d+\.hwaddr = (\S+)$/gm)]);
  return new Set(found.map(([, address = '']) => address));
}

/** Deletes pairs of interfaces with these addresses: a daemon that is killed forgets those of the container that it was starting. */
async function removeLinks(addresses: ReadonlySet<string>): Promise<void> {
  const { stdout } = await run('ip', ['-j', 'link', 'show', 'type', 'veth']);
  const links = JSON.parse(stdout === '' ? '[]' : stdout) as { ifname?: string; address?: string }[];
  for (const { ifname = '', address = '' } of links) {
    // the other end of the pair goes with it, and may be the next of the list
    if (addresses.has(address)) await run('ip', ['link', 'delete', ifname]).catch(() => undefined);
  }
}

/** Unmounts what is mounted below a directory, deepest first. */
async function unmountBelow(dir: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.filter((path) => path.startsWith(`${dir}/`)).reverse()) await run('umount', ['-l', mount]);
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
