import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf, type ApiObject } from '@nodepool/openstack';
import { isZooKeeperError } from '@nodepool/zk-protocol';
import { children } from '../inventory.js';
import type { ServiceProcess } from '../service-process.js';
import { OpenStackHarness, type OpenStackSetup, type PoolKeys } from './openstack-harness.js';

const ELEMENTS = fileURLToPath(new URL('../../../packages/builder/test/fixtures/elements', import.meta.url));
/** Runs the real tool and writes down when it began and ended. */
const TIMED = `#!/bin/sh
began=$(date +%s%3N)
disk-image-create "$@"
status=$?
echo "$began $(date +%s%3N)" > "$TIMES"
exit $status
`;
/** Makes a large file of chance, with the checksums that the real tool writes. */
const LARGE = `#!/bin/sh
set -eu
while [ $# -gt 0 ]; do [ "$1" = -o ] && base=$2; shift; done
head -c "$SIZE" /dev/urandom > "$base.raw"
for kind in md5 sha256; do echo "$("$kind"sum < "$base.raw" | cut -d' ' -f1)  $base.raw" > "$base.raw.$kind"; done
`;
const PATIENCE_MS = 180_000;

/** An upload as ZooKeeper has it. */
export interface StoredUpload {
  readonly provider: string;
  readonly build: string;
  readonly state: string;
  readonly externalId: string;
  readonly id: string;
}

/** Which upload is waited for. */
export interface UploadWanted {
  /** Default: `real`. */
  readonly provider?: string;
  /** Default: `small`. */
  readonly image?: string;
  /** Id of the build. Default: there is only one. */
  readonly build?: string;
}

/** A provider of images in a configuration. */
export interface ImageProvider {
  readonly name: string;
  /** Entry of `clouds.yaml`. */
  readonly cloud: string;
  /** Label of its pool. */
  readonly label: string;
  readonly maxServers?: number;
  /** Images it takes; an empty list takes it away. Default: `small`. */
  readonly images?: readonly string[];
}

/** The provider that all tests have. */
export const REAL: ImageProvider = { name: 'real', cloud: 'nodepool', label: 'small' };

/** A builder's images: on disk, in ZooKeeper and in Glance. */
export class BuiltImages {
  readonly #harness: OpenStackHarness;
  readonly #name: string;
  readonly #dir: string;

  private constructor(harness: OpenStackHarness, name: string, dir: string) {
    this.#harness = harness;
    this.#name = name;
    this.#dir = dir;
  }

  static async prepare(harness: OpenStackHarness, name = 'builder'): Promise<BuiltImages> {
    const dir = join(harness.imagesDir(name), '..');
    await mkdir(dir, { recursive: true });
    for (const [tool, text] of Object.entries({ timed: TIMED, large: LARGE })) {
      await writeFile(join(dir, tool), text);
      await chmod(join(dir, tool), 0o755);
    }
    return new BuiltImages(harness, name, dir);
  }

  /** The file of launcher and builder. Image `small` is built by the real tool, `large` by a script. */
  setup(providers: readonly ImageProvider[] = [REAL], names: readonly string[] = ['small']): OpenStackSetup {
    const env = { DIB_JOURNAL_SIZE: '4', DIB_IMAGE_SIZE: '0.05', SKIP_BASE: '1', TIMES: join(this.#dir, 'times') };
    const known: Record<string, object> = {
      small: { 'dib-cmd': join(this.#dir, 'timed'), elements: ['busybox'], 'env-vars': env },
      large: { 'dib-cmd': join(this.#dir, 'large'), elements: ['vm'], 'env-vars': { SIZE: '512M' } },
    };
    const diskimages = names.map((name) => ({ name, username: 'zuul', ...known[name] }));
    const entries = providers.map(({ name, cloud, label, maxServers = 10, images = names }) => {
      const keys: PoolKeys = {
        pool: { 'max-servers': maxServers, ...(names.length === 0 && { labels: [] }) },
        label: { name: label, 'cloud-image': undefined, diskimage: names[0] },
        entry: { name, cloud, 'cloud-images': [], diskimages: images.map((image) => imageEntry(image)) },
      };
      return OpenStackHarness.setup(keys).providers;
    });
    return { providers: entries.flat(), more: { 'elements-dir': ELEMENTS, diskimages } };
  }

  start(setup: OpenStackSetup): Promise<ServiceProcess> {
    return this.#harness.startBuilder(setup, this.#name);
  }

  /** Puts another file in force, and waits until the builder says it is. */
  async reconfigure(builder: ServiceProcess, setup: OpenStackSetup): Promise<void> {
    const logged = builder.log.length;
    await builder.rewriteConfig(this.#harness.builderConfig(setup, this.#name));
    await builder.whenLogged(/Configuration reloaded/, logged);
  }

  /** Names of the files that belong to builds. */
  async files(): Promise<string[]> {
    const all = await readdir(this.#harness.imagesDir(this.#name));
    return all.filter((name) => !/^(builder_id|build_space|database_id)/.test(name)).sort();
  }

  /** Path of the file of a build. */
  file(image: string, build: string, format: string): string {
    return join(this.#harness.imagesDir(this.#name), `${image}-${build}.${format}`);
  }

  /** How long the real tool took the last time, ms. */
  async toolMs(): Promise<number> {
    const [began = 0, ended = 0] = (await readFile(join(this.#dir, 'times'), 'utf8')).split(' ').map(Number);
    return ended - began;
  }

  /** Ids of the builds in a state. */
  async builds(image: string, state = 'ready'): Promise<string[]> {
    const ids = await this.#below(`/nodepool/images/${image}/builds`);
    const bodies = await Promise.all(ids.map((id) => this.#body(`/nodepool/images/${image}/builds/${id}`)));
    return ids.filter((_, i) => bodies[i]?.['state'] === state);
  }

  /** Every upload there is a record of. */
  async uploads(image: string): Promise<StoredUpload[]> {
    const root = `/nodepool/images/${image}/builds`;
    const found: StoredUpload[] = [];
    for (const build of await this.#below(root)) {
      for (const provider of await this.#below(`${root}/${build}/providers`)) {
        const path = `${root}/${build}/providers/${provider}/images`;
        for (const id of await this.#below(path)) {
          const body = await this.#body(`${path}/${id}`);
          if (!body) continue;
          const { state, external_id: externalId } = body;
          found.push({ provider, build, state: textOf(state), externalId: textOf(externalId), id });
        }
      }
    }
    return found;
  }

  /** Images in Glance but that of the cloud itself. */
  async inCloud(): Promise<ApiObject[]> {
    const all = await this.#harness.api.list('glance', '/v2/images', 'images');
    return all.filter(({ name }) => name !== 'test-image');
  }

  /** Waits until there is one good upload to a provider, of this build or of any, and no other. @returns it */
  async whenUploaded({ provider = 'real', image = 'small', build }: UploadWanted = {}): Promise<StoredUpload> {
    let found: StoredUpload | undefined;
    const isSo = async (): Promise<boolean> => {
      const all = await this.uploads(image);
      const [first, ...others] = all.filter((one) => one.provider === provider && (build ?? one.build) === one.build);
      found = first;
      return first?.state === 'ready' && others.length === 0;
    };
    await this.#harness.until(`a good upload of ${image} to ${provider}`, isSo, PATIENCE_MS);
    if (!found) throw new Error(`there is no upload of ${image}`);
    return found;
  }

  /** Waits until the build that is newer than those known is ready. @returns its id */
  async whenBuilt(known: readonly string[], image = 'small'): Promise<string> {
    let fresh: string | undefined;
    await this.#harness.until(
      `a new build of ${image}`,
      async () => (fresh = (await this.builds(image)).find((id) => !known.includes(id))) !== undefined,
      PATIENCE_MS,
    );
    return fresh ?? '';
  }

  /** Waits until nothing is left of a build: no file, no record, no image in the cloud. */
  async whenGone(build: string): Promise<void> {
    await this.#harness.until(
      `build ${build} to be gone everywhere`,
      async () => {
        const [files, uploads, cloud] = await Promise.all([this.files(), this.uploads('small'), this.inCloud()]);
        const ids = await this.#below('/nodepool/images/small/builds');
        return !JSON.stringify([files, uploads, cloud, ids]).includes(build);
      },
      PATIENCE_MS,
    );
  }

  async #below(path: string): Promise<string[]> {
    return (await children(this.#harness.zk, path)).filter((name) => name !== 'lock').sort();
  }

  async #body(path: string): Promise<ApiObject | undefined> {
    try {
      return JSON.parse((await this.#harness.zk.getData(path)).data.toString()) as ApiObject;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }
}

const imageEntry = (name: string) => ({ name, 'connection-port': 'ssh', meta: { team: 'infra' } });
