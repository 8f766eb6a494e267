import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Launcher } from '@nodepool/core/launcher';
import { createDriverRegistry, loadConfig, type DriverRegistry } from '@nodepool/core/config';
import { addressOf, CloudServer, createFakeDriver, SshEndpoints } from '@nodepool/driver-fake';
import {
  silentLogger,
  type Config,
  type Driver,
  type LogFields,
  type Logger,
  type Provider,
  type ProviderImage,
} from '@nodepool/core';
import {
  ensureDatabaseId,
  connect,
  ImageTree,
  systemClock,
  type BuildRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { BuilderEvents } from '@nodepool/core/service';
import { mountsBelow } from '../../src/tool/leftovers.js';
import { ImageProviders } from '../../src/providers/image-providers.js';
import { contextFor } from '../../src/providers/provider-context.js';
import { Builder, type BuilderOptions } from '../../src/index.js';

/** Path of the script that replaces disk-image-create. */
export const MAKE_IMAGE = fileURLToPath(new URL('../fixtures/make-image.sh', import.meta.url));

/** Options of a test world. */
export interface WorldOptions {
  /** YAML of `diskimages` without indentation. */
  readonly diskimages: string;
  /** Additional keys of the provider's image, in YAML. */
  readonly provider?: string;
  /** Additional keys of the provider, in YAML. */
  readonly sky?: string;
  /** Additional top-level keys, in YAML. */
  readonly top?: string;
  /** Additional `cloud-settings`, one line of YAML. */
  readonly cloud?: string;
  /** Drivers that replace the fake driver. */
  readonly drivers?: readonly Driver[];
  /** Images of the provider; default: `debian`. */
  readonly images?: readonly string[];
  readonly builder?: Partial<BuilderOptions>;
}

/** A builder with its own ZooKeeper server and a fake cloud that accepts images. */
export class World {
  readonly happened: string[] = [];
  /** Log messages of the builders, prefixed with the level and followed by the text of an error or reason. */
  readonly said: string[] = [];

  private constructor(
    readonly dir: string,
    readonly zk: ZooKeeper,
    readonly tree: ImageTree,
    readonly registry: DriverRegistry,
    private server: { close(): Promise<void>; readonly connectString: string },
    /** The fake cloud. It runs in this process, because a server started by the driver would outlive the test and its directory. */
    readonly cloud: CloudServer,
    public config: Config,
    private readonly options: WorldOptions,
  ) {}

  static async start(options: WorldOptions): Promise<World> {
    const dir = await mkdtemp(join(tmpdir(), 'builder-test-'));
    await Promise.all([mkdir(join(dir, 'images')), mkdir(join(dir, 'cloud'), { mode: 0o700 })]);
    const at = { dir: join(dir, 'cloud'), address: addressOf(join(dir, 'cloud')) };
    const endpoints = new SshEndpoints(at.dir);
    const cloud = await CloudServer.start({ ...at, endpoints, clock: systemClock, random: Math.random });
    const server = await startEmbeddedServer({ dataDir: join(dir, 'zk') });
    const zk = await connect({ servers: server.connectString });
    const tree = new ImageTree({ zk, clock: systemClock, logger: silentLogger, changed: () => undefined });
    await tree.start();
    const registry = createDriverRegistry({
      searchFrom: [import.meta.dirname],
      globalDir: dir,
      // Passed directly, because loading the driver as a package could time out on a busy machine.
      drivers: options.drivers ?? [createFakeDriver()],
    });
    const config = await World.#load(dir, options, registry);
    return new World(dir, zk, tree, registry, server, cloud, config, options);
  }

  get imagesDir(): string {
    return join(this.dir, 'images');
  }

  /** Writes the configuration of a builder in a separate process. @returns path of the file */
  async processConfig(): Promise<string> {
    const [host = '', port = ''] = this.server.connectString.split(':');
    const file = join(this.dir, 'process.yaml');
    const servers = `zookeeper-servers: [{host: ${host}, port: ${port}}]\nzookeeper-timeout: 4\n`;
    await writeFile(file, servers + (await readFile(join(this.dir, 'nodepool.yaml'), 'utf8')));
    return file;
  }

  /** Starts a builder. */
  async builder(
    changes: Partial<BuilderOptions> & { readonly imagesDir?: string; readonly buildLogDir?: string } = {},
  ): Promise<Builder> {
    const events: BuilderEvents = {
      buildEnded: (image, { exitCode }) => this.happened.push(`built ${image} ${exitCode}`),
      imageBuilt: (image, format) => this.happened.push(`image ${image} ${format}`),
      uploaded: (image, provider) => this.happened.push(`uploaded ${image} ${provider}`),
      imagesChanged: () => undefined,
      sweepFound: (work) => this.happened.push(`sweep found ${work}`),
    };
    const zk = await connect({ servers: this.server.connectString });
    const shared = { zk, clock: systemClock, logger: this.#logger, random: () => 0.5, hostname: 'nb01.example.com' };
    const { imagesDir = this.imagesDir, buildLogDir = this.config.buildLogDir, ...options } = changes;
    const config = { ...this.config, imagesDir, buildLogDir };
    const builder: Builder = new Builder({
      ...{ ...shared, config, registry: this.registry, version: '1', buildWorkers: 1, uploadWorkers: 4 },
      ...{ tmpDir: this.dir, packageDir: this.dir, env: process.env, events },
      contextOf: (config) =>
        contextFor(
          { ...shared, config: () => this.config, env: process.env, databaseId: () => builder.databaseId },
          config,
        ),
      ...this.options.builder,
      ...options,
    });
    this.#ends.push(async () => {
      await builder.stop();
      await zk.close();
      await builder.join();
    });
    await builder.start();
    return builder;
  }

  /** Opens another connection to ZooKeeper. */
  async connect(chroot = ''): Promise<ZooKeeper> {
    if (chroot !== '') await this.zk.ensurePath(chroot);
    const zk = await connect({ servers: `${this.server.connectString}${chroot}` });
    this.#ends.push(() => zk.close());
    return zk;
  }

  /** Starts a launcher with the current configuration. */
  async launcher(): Promise<void> {
    const { config, registry } = this;
    const zk = await this.connect();
    const launcher = new Launcher({
      ...{ zk, config, registry, logger: silentLogger, clock: systemClock, hostname: 'nl01.example.com', version: '1' },
    });
    this.#ends.push(async () => {
      // Stop providers before their cloud: a provider that loses its cloud would start another one.
      await launcher.drain(30_000);
      await launcher.stop();
    });
    await launcher.start();
  }

  readonly #ends: (() => Promise<void>)[] = [];
  readonly #logger = listeningLogger((text) => this.said.push(text));

  /** Replaces the server by one without data, or with those of a copy, on the same port. */
  async loseData(dataDir = join(this.dir, 'empty-zk')): Promise<void> {
    const { connectString } = this.server;
    await this.server.close();
    this.server = await startEmbeddedServer({ dataDir, port: Number(connectString.split(':')[1]) });
  }

  /** @returns the directory of a copy of ZooKeeper's data */
  async copyData(): Promise<string> {
    const copy = join(this.dir, 'copy-zk');
    await cp(join(this.dir, 'zk'), copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    return copy;
  }

  /** Stops the server, so that clients cannot connect. */
  stopZooKeeper(): Promise<void> {
    return this.server.close();
  }

  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
    this.tree.stop();
    await this.zk.close();
    await this.server.close();
    await this.cloud.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Images in the fake cloud, as listed by the provider. */
  async cloudImages(): Promise<readonly ProviderImage[]> {
    return (await (await this.#provider()).listImages?.(AbortSignal.timeout(50_000))) ?? [];
  }

  /** Creates an image without a record. @param tags - added to or replacing the usual tags; `undefined` removes a tag */
  async leakImage(tags: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
    const { zk } = this;
    const all: Readonly<Record<string, string | undefined>> = {
      nodepool_provider_name: 'sky',
      nodepool_database_id: await ensureDatabaseId(zk),
      nodepool_build_id: 'f'.repeat(32),
      nodepool_upload_id: '0000000007',
      ...tags,
    };
    const metadata = Object.fromEntries(
      Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined),
    );
    const upload = {
      image: 'debian',
      name: 'leaked',
      file: join(this.dir, 'nodepool.yaml'),
      format: 'qcow2',
      md5: undefined,
      sha256: undefined,
      metadata,
    };
    await (await this.#provider()).uploadImage?.({ ...upload, onCreated: async () => {} }, AbortSignal.timeout(50_000));
    await zk.sync('/');
  }

  async #provider(): Promise<Provider> {
    const shared = { zk: this.zk, clock: systemClock, logger: silentLogger, random: () => 0.5, hostname: 'test' };
    const databaseId = await ensureDatabaseId(this.zk);
    const context = { ...shared, config: () => this.config, env: process.env, databaseId: () => databaseId };
    const providers = new ImageProviders(this.registry, (config) => contextFor(context, config), silentLogger);
    this.#ends.push(() => providers.stop());
    await providers.reconfigure(this.config);
    const provider = await providers.use('sky', AbortSignal.timeout(50_000));
    if (!provider) throw new Error('no provider');
    return provider;
  }

  /** The newest build of an image in any state, with its raw body. */
  lastBuild(image: string): BuildRecord | undefined {
    return [...(this.tree.images.get(image)?.builds.values() ?? [])].sort((a, b) => b.stateTimeMs - a.stateTimeMs)[0];
  }

  /** States of all builds and uploads of an image, for comparison. */
  states(image: string): { builds: string[]; uploads: string[] } {
    const entry = this.tree.images.get(image);
    return {
      builds: [...(entry?.builds.values() ?? [])].map(({ state }) => state).sort(),
      uploads: [...(entry?.uploads.values() ?? [])].map(({ state, provider }) => `${provider} ${state}`).sort(),
    };
  }

  /** Mounts in the directory of the world. */
  async mounts(): Promise<string[]> {
    return mountsBelow(this.dir, await readFile('/proc/self/mountinfo', 'utf8'));
  }

  async files(): Promise<string[]> {
    return (await readdir(this.imagesDir)).filter((name) => !/^(builder_id|build_space|database_id)/.test(name));
  }

  /** Writes another configuration and applies it to builders started from now on. */
  async reload(options: WorldOptions): Promise<Config> {
    return (this.config = await World.#load(this.dir, options, this.registry));
  }

  static async #load(
    dir: string,
    { diskimages, provider = '', sky = '', top = '', images = ['debian'], cloud = '' }: WorldOptions,
    drivers: DriverRegistry,
  ): Promise<Config> {
    const file = join(dir, 'nodepool.yaml');
    const indent = (text: string) => text.replace(/^(?=.)/gm, '    ');
    await writeFile(
      file,
      `images-dir: ${dir}/images
build-log-dir: ${dir}/logs
${top}
labels:
  - name: small
diskimages:
${indent(diskimages)}
providers:
  - name: sky
    driver: fake
    cloud-settings:
      state-dir: ${dir}/cloud
      upload-images: true
${cloud === '' ? '' : `      ${cloud}`}
${indent(sky)}
    diskimages: ${images.length === 0 ? '[]' : ''}
${images.map((name) => `      - name: ${name}\n${indent(provider).replace(/^(?=.)/gm, '    ')}`).join('\n')}
    pools:
      - name: main
        labels:
          - name: small
            ${images[0] === undefined ? 'cloud-image: other' : `diskimage: ${images[0]}`}
            min-ram: 1
    cloud-images:
      - name: other
`,
    );
    return loadConfig({ file, env: {}, drivers, mode: 'service', clock: systemClock });
  }
}

const detailsOf = (fields?: LogFields): string[] =>
  [fields?.error instanceof Error ? fields.error.message : fields?.['output'], fields?.['why']].flatMap((text) =>
    typeof text === 'string' ? text : [],
  );

/** Passes on level and message of each log entry, with the text of an error, the output of a program, or the reason of a build. */
function listeningLogger(hear: (text: string) => void): Logger {
  const say = (level: string) => (message: string, fields?: LogFields) =>
    hear([`${level} ${message}`, ...detailsOf(fields)].join(': '));
  const logger: Logger = {
    ...{ debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
    child: () => logger,
  };
  return logger;
}
