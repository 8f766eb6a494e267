import type { Clock } from '@nodepool/zk-protocol';
import { ConfigError, type Logger } from '@nodepool/core';
import { NO_NETWORKS, networkView, type NetworkView } from './addresses.js';
import { Cached } from './cached.js';
import type { OpenStackClient } from './client/client.js';
import type { Flavor } from './client/compute.js';
import type { Image } from './client/image.js';
import type { OpenStackLabel, OpenStackPool } from './config.js';

/** What rarely changes is read again after this time. */
const LIFE_MS = 3_600_000;
/** What is missing is looked for again at most this often. */
const MISSING_LIFE_MS = 15_000;
/** A message names no more images than this. */
const MOST_NAMES = 20;

/** What is known of a cloud besides its servers: flavors, images, networks, zones. */
export class CloudFacts {
  readonly #client: OpenStackClient;
  readonly #logger: Logger;
  readonly #flavors: Cached<readonly Flavor[]>;
  readonly #images: Cached<readonly Image[]>;
  readonly #networks: Cached<NetworkView>;
  readonly #zones: Cached<readonly string[]>;
  readonly #groups: Cached<readonly { readonly id: string; readonly name: string }[]>;
  readonly #told = new Set<string>();

  constructor(client: OpenStackClient, clock: Clock, logger: Logger) {
    this.#client = client;
    this.#logger = logger;
    this.#flavors = new Cached(clock, LIFE_MS, async (signal) => bySize(await client.compute.flavors(signal)));
    this.#images = new Cached(clock, LIFE_MS, (signal) => client.image.images({ status: 'active' }, signal));
    this.#networks = new Cached(clock, LIFE_MS, (signal) => readNetworks(client, signal));
    this.#zones = new Cached(clock, LIFE_MS, (signal) => client.compute.zones(signal));
    this.#groups = new Cached(clock, LIFE_MS, (signal) => client.compute.serverGroups(signal));
  }

  flavors(): Promise<readonly Flavor[]> {
    return this.#flavors.get();
  }

  networks(): Promise<NetworkView> {
    return this.#networks.get();
  }

  zones(): Promise<readonly string[]> {
    return this.#zones.get();
  }

  /** The cloud did not know what we know of it: everything is read again. */
  flush(): void {
    for (const cached of [this.#flavors, this.#images, this.#networks, this.#zones, this.#groups]) cached.flush();
  }

  /** The flavor of a label. @throws {ConfigError} there is none */
  flavorOf(label: OpenStackLabel): Promise<Flavor> {
    return lookUp(this.#flavors, (flavors) => flavorAmong(flavors, label));
  }

  /**
   * The image with this id or name: only active ones; of several the newest, and the log names them all.
   * @returns `undefined`: there is none; looked up again now and then
   */
  async image(idOrName: string): Promise<Image | undefined> {
    const found = this.#among(await this.#images.get(), idOrName);
    if (found) return found;
    this.#images.flush(MISSING_LIFE_MS);
    return this.#among(await this.#images.get(), idOrName);
  }

  /** Makes sure that there is an image for a label. @throws {ConfigError} there is none; with the names of those there are */
  async requireImage(idOrName: string, label: string): Promise<void> {
    if (await this.image(idOrName)) return;
    const names = [...new Set((await this.#images.get()).map(({ name }) => name))].sort();
    const some = names.slice(0, MOST_NAMES).join(', ') || 'none';
    const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
    const message = `label "${label}": the cloud has no active image with the name or id "${idOrName}"; it has ${some}${more}`;
    throw missing('Image', message);
  }

  /**
   * Ids of the networks a label's servers get; `auto` where none are named.
   * @throws {ConfigError} one does not exist, or its name is that of several
   */
  async networkIds(pool: OpenStackPool, label: OpenStackLabel): Promise<readonly string[] | 'auto'> {
    const usual = this.#client.settings.networks.filter((hint) => hint.defaultInterface).slice(0, 1);
    const named = label.networks ?? pool.networks;
    const names = named.length > 0 ? named : usual.map(({ name }) => name);
    if (names.length === 0) return 'auto';
    return lookUp(this.#networks, ({ networks }) =>
      names.map((name) => theOne(networks, name, 'Network', label.name).id),
    );
  }

  /** Id of a server group. @throws {ConfigError} it does not exist */
  async serverGroup(idOrName: string, label: string): Promise<string> {
    return lookUp(this.#groups, (groups) => theOne(groups, idOrName, 'ServerGroup', label).id);
  }

  #among(images: readonly Image[], idOrName: string): Image | undefined {
    // the filter of the list is not trusted: some clouds ignore it
    const active = images.filter(({ status }) => status === 'active');
    const byId = active.find(({ id }) => id === idOrName);
    if (byId) return byId;
    const named = active.filter(({ name }) => name === idOrName);
    const [newest, ...others] = named.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    if (newest && others.length > 0 && !this.#told.has(newest.id)) {
      this.#told.add(newest.id);
      const all = named.map(({ id, createdAt }) => `${id} (${createdAt})`);
      this.#logger.warn('Several images have one name; the newest is used', { name: idOrName, images: all });
    }
    return newest;
  }
}

/** Smallest first, and by name among those of one size. */
function bySize(flavors: readonly Flavor[]): Flavor[] {
  return [...flavors].sort((a, b) => a.ramMib - b.ramMib || (a.name < b.name ? -1 : 1));
}

/**
 * The flavor for a label: with `min-ram` the smallest that fits and, if a name is given too, has it in its own; else the
 * one with that very name or id.
 * @param flavors - sorted by RAM, then name
 */
export function chooseFlavor(flavors: readonly Flavor[], label: OpenStackLabel): Flavor | undefined {
  const { minRamMib, flavorName } = label;
  if (minRamMib > 0) {
    return flavors.find(
      ({ name, ramMib }) => ramMib >= minRamMib && (flavorName === undefined || name.includes(flavorName)),
    );
  }
  return flavors.find(({ name, id }) => name === flavorName || id === flavorName);
}

function flavorAmong(flavors: readonly Flavor[], label: OpenStackLabel): Flavor {
  const found = chooseFlavor(flavors, label);
  if (found) return found;
  const wanted = [
    ...(label.flavorName === undefined ? [] : [`flavor-name "${label.flavorName}"`]),
    ...(label.minRamMib > 0 ? [`min-ram ${label.minRamMib}`] : []),
  ].join(' and ');
  const known = flavors.map(({ name }) => name).join(', ') || 'none';
  throw missing('Flavor', `label "${label.name}": the cloud has no flavor for ${wanted}; it has ${known}`);
}

/** Takes something from what is known; when it is not there, from what the cloud has now. */
async function lookUp<T, R>(known: Cached<T>, take: (value: T) => R): Promise<R> {
  try {
    return take(await known.get());
  } catch (error) {
    if (!(error instanceof ConfigError) || !known.flush(MISSING_LIFE_MS)) throw error;
    return take(await known.get());
  }
}

/** What a label may name that the cloud does not have: its noun, and what can be done about it. */
const THINGS = {
  Flavor: ['flavor', 'correct "flavor-name" or "min-ram" of the label, or create the flavor in the cloud'],
  Image: ['image', 'correct "image-name" or "image-id" of the cloud image, or upload the image to the cloud'],
  Network: ['network', 'correct "networks" of the label or its pool, or create the network in the cloud'],
  ServerGroup: ['server group', 'correct "server-group" of the label, or create the server group in the cloud'],
} as const;

function missing(thing: keyof typeof THINGS, message: string): ConfigError {
  return new ConfigError(message, [], { reason: `${thing}Missing`, nextStep: THINGS[thing][1] });
}

function theOne<T extends { readonly id: string; readonly name: string }>(
  all: readonly T[],
  idOrName: string,
  thing: keyof typeof THINGS,
  label: string,
): T {
  const byId = all.find(({ id }) => id === idOrName);
  if (byId) return byId;
  const what = `label "${label}": ${THINGS[thing][0]} "${idOrName}"`;
  const named = all.filter(({ name }) => name === idOrName);
  const [found, ...others] = named;
  if (!found) {
    const known = [...new Set(all.map(({ name }) => name))].join(', ') || 'none';
    throw missing(thing, `${what} does not exist in the cloud; it has ${known}`);
  }
  if (others.length > 0) {
    const ids = named.map(({ id }) => id).join(', ');
    const details = {
      reason: `${thing}Ambiguous`,
      nextStep: `write the id of the ${THINGS[thing][0]} instead of its name`,
    };
    throw new ConfigError(`${what} is the name of several (${ids}): write the id`, [], details);
  }
  return found;
}

async function readNetworks(client: OpenStackClient, signal: AbortSignal): Promise<NetworkView> {
  if (!client.settings.hasNetwork || !(await client.network.exists(signal))) return NO_NETWORKS;
  const [networks, subnets] = await Promise.all([client.network.networks(signal), client.network.subnets(signal)]);
  return networkView(networks, subnets, client.settings.networks);
}
