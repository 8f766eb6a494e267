import type { JsonObject } from '@nodepool/zk-protocol';
import { sample } from './distribution.js';
import { readSettings, type CloudSettings, type Failure, type TimeName } from './settings.js';

/** The current settings, with random failures and delays drawn from them. */
export class Knobs {
  readonly #random: () => number;
  #json: JsonObject;
  #settings: CloudSettings;

  /** @throws {TypeError} the settings are wrong */
  constructor(json: JsonObject, random: () => number) {
    this.#random = random;
    this.#json = json;
    this.#settings = readSettings(json);
  }

  get settings(): CloudSettings {
    return this.#settings;
  }

  /** The settings as in YAML. */
  get json(): JsonObject {
    return this.#json;
  }

  /** @throws {TypeError} the settings are wrong; the current ones stay */
  use(json: JsonObject): void {
    this.#settings = readSettings(json);
    this.#json = json;
  }

  /** Whether this failure strikes now, with its configured probability. */
  happens(failure: Failure): boolean {
    const rate = this.#settings.failures[failure];
    return rate > 0 && this.#random() < rate;
  }

  /** Samples a time, in milliseconds. */
  timeMs(name: TimeName): number {
    return sample(this.#settings.times[name], this.#random);
  }
}
