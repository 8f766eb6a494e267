import type { Config } from '@nodepool/core';
import type { Launcher } from '@nodepool/core/launcher';
import type { Random } from '@nodepool/core/testing';
import type { Reloader } from '@nodepool/daemon';
import { delay, orAbort } from '@nodepool/zk-protocol';
import { differences, poolsOf, readConfig, type ConfigSpec } from '../fleets/config.js';
import { acceptedOf, brokenFile, rightFile, type ConfigFile } from '../fleets/config-file.js';
import type { SimulatedProcess } from '../world/process.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';

/** Mean time until a file is read. */
const READ_MS = 20;

/** The file of a launcher, read by the real loader, and what must be in force by it. */
export class LauncherConfig {
  readonly #world: World;
  readonly #name: string;
  readonly #random: Random;
  #file: ConfigFile;
  /** What was read last. */
  #read: ConfigFile;
  #spec: ConfigSpec;

  constructor(world: World, name: string, spec: ConfigSpec) {
    this.#world = world;
    this.#name = name;
    this.#random = world.random.fork();
    this.#file = this.#read = rightFile(spec);
    this.#spec = spec;
  }

  /** What is in force. */
  get spec(): ConfigSpec {
    return this.#spec;
  }

  write(spec: ConfigSpec): void {
    this.#file = rightFile(spec);
  }

  writeBroken(spec: ConfigSpec): void {
    this.#file = brokenFile(spec, this.#random);
    this.#world.trace.add(this.#name, () => `its file is broken: ${JSON.stringify(this.#file.text)}`);
  }

  /** Loads the file at a start. @throws ConfigError it cannot be used */
  async loadFirst(process: SimulatedProcess): Promise<Config> {
    const config = await this.load(process);
    this.#putInForce(acceptedOf(this.#read, undefined));
    for (const text of differences(config, this.#spec)) this.#violate(`starts with ${text}`);
    return config;
  }

  /** Loads the file. @throws ConfigError it is broken */
  async load({ clock }: SimulatedProcess, signal?: AbortSignal): Promise<Config> {
    const reading = delay(clock, this.#random.exponential(READ_MS));
    await (signal ? orAbort(reading, signal) : reading);
    const { text } = (this.#read = this.#file);
    if (text !== undefined) return this.#parse(text);
    const { drivers } = this.#world;
    return readConfig({ drivers, clock, read: () => this.#look() });
  }

  /** A configuration is put in force during a reload. */
  apply(): void {
    this.#putInForce(acceptedOf(this.#read, this.#spec));
  }

  #putInForce(spec: ConfigSpec | undefined): void {
    if (spec) this.#spec = spec;
    else this.#violate(`takes a broken file: ${JSON.stringify(this.#read.text)}`);
  }

  /**
   * Checks what is in force after a reload, whether the file could be used or not.
   * @param launcher - `undefined`: it stops, and changes its pools no more
   */
  checkReload({ config, status }: Reloader, launcher: Launcher | undefined): void {
    const isRefused = status.error !== undefined;
    if (isRefused && acceptedOf(this.#read, this.#spec)) this.#violate(`refuses a right file: ${status.error}`);
    for (const text of differences(config, this.#spec)) this.#violate(`has in force: ${text}`);
    const pools = poolsOf(this.#spec);
    for (const { provider, pool, labels } of launcher?.poolStatus ?? []) {
      const known = pools.get(`${provider}/${pool}`);
      const alien = known ? labels.find((label) => !known.has(label)) : 'any label';
      if (alien !== undefined) this.#violate(`serves ${alien} in ${provider}/${pool} against its configuration`);
    }
  }

  /** How what is in force differs from the file, when all has come to rest. */
  problems({ config, status }: Reloader): string[] {
    if (status.error !== undefined) return [`its file is not in force: ${status.error}`];
    return this.#file.spec ? differences(config, this.#file.spec) : ['its file is broken'];
  }

  /** Each text is parsed once. */
  #parse(text: string): Promise<Config> {
    const { configs, drivers, clock } = this.#world;
    const known = configs.get(text);
    if (known) return known;
    const loading = readConfig({ drivers, clock, read: () => Promise.resolve(text) });
    configs.set(text, loading);
    return loading;
  }

  /** An editor that replaces a file may be about to write it. */
  #look(): Promise<string> {
    const { text } = (this.#read = this.#file);
    if (text !== undefined) return Promise.resolve(text);
    return Promise.reject(Object.assign(new Error('ENOENT: no such file or directory'), { code: 'ENOENT' }));
  }

  #violate(what: string): void {
    this.#world.violate(new Violation(`${this.#name} ${what}`));
  }
}
