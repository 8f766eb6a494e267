import { textOf, type Clock, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { formatProblem } from '../../config/problems.js';
import type { Config, LabelConfig } from '../../contract/config.js';
import type { Driver } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import { loadEntry } from './load-entry.js';

/** Configuration of a test: a provider entry of the driver and the rest of the file. */
export class TestConfiguration {
  /** The driver under test, followed by the drivers it builds on. */
  readonly drivers: readonly [Driver, ...Driver[]];
  readonly entry: JsonObject;
  /** Other top-level keys. */
  readonly file: JsonObject;
  readonly #clock: Clock;
  #config: Promise<Config> | undefined;

  constructor(drivers: readonly [Driver, ...Driver[]], entry: JsonObject, file: JsonObject, clock: Clock) {
    this.drivers = drivers;
    this.entry = entry;
    this.file = file;
    this.#clock = clock;
  }

  /** Copy of this configuration with different provider names. */
  renamed(name: string): TestConfiguration {
    const { providers } = this.file;
    const others = Array.isArray(providers) ? providers.map((entry) => renamed(entry, name)) : [];
    const file = providers === undefined ? this.file : { ...this.file, providers: others };
    return new TestConfiguration(this.drivers, { ...structuredClone(this.entry), name }, file, this.#clock);
  }

  get providerName(): string {
    return textOf(this.entry['name']) ?? '';
  }

  /** Whether nodes of the driver depend on nodes of further providers in the file. */
  get buildsOnOthers(): boolean {
    return this.file['providers'] !== undefined;
  }

  /** Loads the entry like a launcher. Fails the test if the entry has errors. */
  read(): Promise<Config> {
    this.#config ??= this.readEntry(this.entry);
    return this.#config;
  }

  /** From now on, the first label has these settings too. */
  async setLabel(changes: Partial<LabelConfig>): Promise<void> {
    const [first] = await this.labels();
    const config = await this.readEntry(this.entry);
    const labels = new Map(config.labels);
    const label = labels.get(first);
    if (label) labels.set(first, { ...label, ...changes });
    this.#config = Promise.resolve({ ...config, labels });
  }

  /** Loads an entry. */
  async readEntry(entry: JsonObject): Promise<Config> {
    const { config, problems } = await loadEntry(entry, this.drivers, this.file, { clock: this.#clock });
    if (config) return config;
    throw new Error(`validConfig has problems:\n${problems.map(formatProblem).join('\n')}`);
  }

  /** Loads the configuration of a provider. */
  async readProvider(entry: JsonObject = this.entry): Promise<ProviderConfig> {
    return providerIn(await this.readEntry(entry), textOf(entry['name']) ?? '');
  }

  /** All labels of the driver's pools. */
  async labels(): Promise<readonly [string, ...string[]]> {
    const { pools } = providerIn(await this.read(), this.providerName);
    const [first, ...rest] = new Set([...pools.values()].flatMap((pool) => [...pool.labels.keys()]));
    if (first === undefined) throw new Error('validConfig has no label: give its first pool one');
    return [first, ...rest];
  }
}

function renamed(entry: Json, prefix: string): Json {
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return entry;
  return { ...structuredClone(entry), name: `${prefix}-${textOf(entry['name']) ?? ''}` };
}

function providerIn(config: Config, name: string): ProviderConfig {
  const provider = config.providers.get(name);
  if (!provider) throw new Error(`the configuration has no provider "${name}"`);
  return provider;
}
