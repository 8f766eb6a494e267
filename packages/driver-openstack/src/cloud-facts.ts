import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import { NO_NETWORKS, networkView, type NetworkView } from './addresses.js';
import { Cached } from './cached.js';
import type { OpenStackClient } from './client/client.js';
import type { Flavor } from './client/compute.js';
import type { Image } from './client/image.js';
import type { OpenStackLabel, OpenStackPool } from './config.js';
import { lookUp, missing, MISSING_LIFE_MS, theOne, type Named } from './named-things.js';
import { keyPairNames, ownSecurityGroups } from './named-lists.js';

/** Lifetime of cached values. */
const LIFE_MS = 3_600_000;
/** Maximum number of images in a message. */
const MAX_NAMES = 20;

/** Cached facts of a cloud: flavors, images, networks, zones. */
export class CloudFacts {
  readonly #client: OpenStackClient;
  readonly #logger: Logger;
  readonly #flavors: Cached<readonly Flavor[]>;
  readonly #images: Cached<readonly Image[]>;
  readonly #networks: Cached<NetworkView>;
  readonly #zones: Cached<readonly string[]>;
  readonly #groups: Cached<readonly Named[]>;
  readonly #keyPairs: Cached<readonly Named[] | undefined>;
  readonly #securityGroups: Cached<readonly Named[] | undefined>;
  readonly #told = new Set<string>();

  constructor(client: OpenStackClient, clock: Clock, logger: Logger) {
    this.#client = client;
    this.#logger = logger;
    this.#flavors = new Cached(clock, LIFE_MS, async (signal) => bySize(await client.compute.flavors(signal)));
    this.#images = new Cached(clock, LIFE_MS, (signal) => client.image.images({ status: 'active' }, signal));
    this.#networks = new Cached(clock, LIFE_MS, (signal) => readNetworks(client, signal));
    this.#zones = new Cached(clock, LIFE_MS, (signal) => client.compute.zones(signal));
    this.#groups = new Cached(clock, LIFE_MS, (signal) => client.compute.serverGroups(signal));
    this.#keyPairs = new Cached(clock, LIFE_MS, (signal) => keyPairNames(client, signal));
    this.#securityGroups = new Cached(clock, LIFE_MS, (signal) => ownSecurityGroups(client, signal));
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

  /** Drops all cached values, because the cloud did not know one of them. */
  flush(): void {
    for (const cached of [this.#flavors, this.#images, this.#networks, this.#zones, this.#groups]) cached.flush();
    for (const cached of [this.#keyPairs, this.#securityGroups]) cached.flush();
  }

  /** The flavor of a label. @throws {ConfigError} no such flavor */
  flavorOf(label: OpenStackLabel): Promise<Flavor> {
    return lookUp(this.#flavors, (flavors) => flavorAmong(flavors, label));
  }

  /**
   * The active image with this id or name. Of several, the newest; the log names them all.
   * @returns `undefined`: no such image; looked up again later
   */
  async image(idOrName: string): Promise<Image | undefined> {
    const found = this.#among(await this.#images.get(), idOrName);
    if (found) return found;
    this.#images.flush(MISSING_LIFE_MS);
    return this.#among(await this.#images.get(), idOrName);
  }

  /** Verifies that the image of a label exists. @throws {ConfigError} it does not; the message lists existing images */
  async requireImage(idOrName: string, label: string): Promise<void> {
    if (await this.image(idOrName)) return;
    const names = [...new Set((await this.#images.get()).map(({ name }) => name))].sort();
    const some = names.slice(0, MAX_NAMES).join(', ') || 'none';
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
    const message = `label "${label}": the cloud has no active image with the name or id "${idOrName}"; it has ${some}${more}`;
    throw missing('Image', message);
  }

  /**
   * Ids of the networks of a label; `auto` if none are configured.
   * @throws {ConfigError} a network does not exist, or its name is ambiguous
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

  /**
   * Verifies what Nova looks up by name when it gets an order. What cannot be listed is left to Nova.
   * @throws {ConfigError} a key pair or security group does not exist, or its name is ambiguous
   */
  async requireNamed(pool: OpenStackPool, { name, keyName }: OpenStackLabel): Promise<void> {
    if (keyName !== undefined) await lookUp(this.#keyPairs, (all) => all && theOne(all, keyName, 'KeyPair', name));
    for (const group of pool.securityGroups) {
      await lookUp(this.#securityGroups, (all) => all && theOne(all, group, 'SecurityGroup', name));
    }
  }

  #among(images: readonly Image[], idOrName: string): Image | undefined {
    // Filter again: some clouds ignore the filter of the list.
    const active = images.filter(({ status }) => status === 'active');
    const byId = active.find(({ id }) => id === idOrName);
    if (byId) return byId;
    const named = active.filter(({ name }) => name === idOrName);
    const [newest, ...others] = named.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    if (newest && others.length > 0 && !this.#told.has(newest.id)) {
      this.#told.add(newest.id);
      const all = named.map(({ id, createdAt }) => `${id} (${createdAt})`);
      this.#logger.warn('Several images have the same name; using the newest', { name: idOrName, images: all });
    }
    return newest;
  }
}

/** By size, then by name. */
function bySize(flavors: readonly Flavor[]): Flavor[] {
  return [...flavors].sort((a, b) => a.ramMib - b.ramMib || (a.name < b.name ? -1 : 1));
}

/**
 * The flavor for a label. With `min-ram`, the smallest that fits and whose name contains `flavor-name`, if given.
 * Otherwise the flavor with exactly this name or id.
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

async function readNetworks(client: OpenStackClient, signal: AbortSignal): Promise<NetworkView> {
  if (!client.settings.hasNetwork || !(await client.network.exists(signal))) return NO_NETWORKS;
  const [networks, subnets] = await Promise.all([client.network.networks(signal), client.network.subnets(signal)]);
  return networkView(networks, subnets, client.settings.networks);
}
