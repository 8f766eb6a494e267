import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Lxd, makeTinyImage } from '@nodepool/incus';
import { ensureDebianPackages, startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { Harness, startGround, type Ground, type LaunchOptions } from '../harness.js';
import { idleNodeProblems } from '../inventory.js';
import type { LauncherProcess } from '../launcher-process.js';
import type { HeldNode } from '../zuul-client.js';

const run = promisify(execFile);

/** Settings of a test. */
export interface IncusSetup {
  readonly providers: readonly { readonly pools: readonly unknown[] }[];
  /** Further keys of the file, e.g. `diskimages`. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A real LXD with a tiny image: at rest it has no instance, volume, profile or image besides. */
export class IncusHarness extends Harness<IncusSetup> {
  readonly lxd: Lxd;
  readonly statsd: StatsdHandle;
  /** Public key that images have to accept. */
  readonly publicKey: string;
  readonly #keyFile: string;
  /** Instances and images that may stay. */
  readonly kept = new Set<string>();

  private constructor(ground: Ground, lxd: Lxd, statsd: StatsdHandle, key: { file: string; publicKey: string }) {
    super(ground);
    this.lxd = lxd;
    this.statsd = statsd;
    this.publicKey = key.publicKey;
    this.#keyFile = key.file;
  }

  /** Starts the daemon, ZooKeeper and statsd, and imports the image `tiny`. */
  static async start(): Promise<IncusHarness> {
    await ensureDebianPackages(['openssh-client']);
    const [ground, lxd, statsd] = [await startGround(), await Lxd.start(), await startStatsd()];
    const file = join(ground.dir, 'key');
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    const publicKey = await readFile(`${file}.pub`, 'utf8');
    const harness = new IncusHarness(ground, lxd, statsd, { file, publicKey });
    const image = await makeTinyImage(publicKey);
    await lxd.importImage(image, 'tiny');
    await image.remove();
    for (const fingerprint of await lxd.images()) harness.kept.add(fingerprint);
    return harness;
  }

  /** A provider with one pool and one label, `small`. */
  setup(label: Record<string, unknown> = {}, provider: Record<string, unknown> = {}): IncusSetup {
    const small = {
      name: 'small',
      ...('clone-from' in label || 'diskimage' in label ? {} : { 'cloud-image': 'tiny' }),
      ...label,
    };
    const entry = {
      ...{ name: 'lab', driver: 'incus', address: this.lxd.address, 'launch-timeout': 120, 'launch-retries': 10 },
      'cloud-images': [{ name: 'tiny', username: 'root' }],
      pools: [{ name: 'main', 'max-servers': 110, labels: [small] }],
      ...provider,
    };
    return { providers: [entry] };
  }

  override launch(setup: IncusSetup, options: LaunchOptions = {}): Promise<LauncherProcess> {
    const env = { STATSD_HOST: this.statsd.host, STATSD_PORT: String(this.statsd.port), ...options.env };
    return super.launch(setup, { ...options, env });
  }

  /** Runs a command on a node over SSH, which must show a host key of its record. @returns what it printed */
  async ssh({ body }: HeldNode, command: string): Promise<string> {
    const address = String(body['interface_ip']);
    const keys = body['host_keys'];
    const known = join(this.dir, `known-${address}`);
    await writeFile(known, keys.map((key) => `${address} ${key}\n`).join(''));
    const options = ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${known}`, 'BatchMode=yes'];
    const args = ['-i', this.#keyFile, ...options.flatMap((option) => ['-o', option]), `root@${address}`, command];
    return (await run('ssh', args)).stdout;
  }

  /** Whether SSH of an address answers with any host key, as a person would try. */
  async answersSsh(address: string): Promise<boolean> {
    const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes', 'ConnectTimeout=1'];
    const args = ['-i', this.#keyFile, ...options.flatMap((option) => ['-o', option]), `root@${address}`, 'true'];
    return run('ssh', args).then(
      () => true,
      () => false,
    );
  }

  protected override configOf({ providers, more }: IncusSetup): Record<string, unknown> {
    return { ...more, labels: [{ name: 'small' }], providers };
  }

  protected override async nodeProblems(): Promise<string[]> {
    const nodes = await idleNodeProblems(this.zk);
    if (nodes.length > 0) return nodes; // asking the daemon as well would slow down what is waited for
    const { lxd } = this;
    const left = [...(await lxd.instances()), ...(await lxd.images()), ...(await lxd.profiles())];
    const volumes = (await lxd.volumes()).filter((line) => !this.kept.has(line.split(',')[1]?.split('/')[0] ?? ''));
    return [...left.filter((name) => name !== 'default' && !this.kept.has(name)), ...volumes].map(
      (name) => `${name} is left`,
    );
  }

  override async stop(): Promise<void> {
    await super.stop();
    await Promise.all([this.lxd.stop(), this.statsd.stop()]);
  }
}
