import { CloudFailure, FakeCloud, type CloudClient, type CloudInstance } from '@nodepool/driver-fake';
import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { CloudLink } from '../cloud/link.js';
import { CloudWeather } from '../cloud/weather.js';
import type { World } from '../world/world.js';

/** Boot time of an instance in seconds when few are booting. */
export const BOOT_S = { from: 30, to: 50 } as const;
/** Instances that can boot concurrently in the usual time; twice as many take twice as long each. */
const AT_ONCE = 40;

/** Capacity of a region, in instances. */
export interface RegionSize {
  readonly instances: number;
}

/** A region of a cloud that boots machines in a typical time, and slower when many boot at once. */
export class Region {
  readonly fake: FakeCloud;
  readonly settings: JsonObject;
  /** Orders received. */
  orders = 0;
  /** Greatest number of instances booting at the same time. */
  mostBooting = 0;
  /** Zone without capacity. */
  emptyZone: string | undefined;
  readonly #world: World;
  readonly #weather: CloudWeather;
  readonly #booting = new Set<string>();
  #slowness = 1;

  constructor(
    world: World,
    readonly name: string,
    { instances }: RegionSize,
  ) {
    this.#world = world;
    this.#weather = new CloudWeather(world.random.fork());
    this.#weather.latencyMs = 50;
    this.settings = {
      'create-time': { uniform: [BOOT_S.from, BOOT_S.to] },
      'delete-time': 5,
      'availability-zones': ['zone-1', 'zone-2'],
      flavors: [{ name: 'small', ram: 1024, cores: 1 }],
      quota: { instances },
    };
    this.fake = new FakeCloud({ clock: world.clock, random: world.random.fork().next, settings: this.settings });
    this.fake.onChange(({ id, instance }) => this.#changed(id, instance));
  }

  /** A client for a launcher. */
  connect(clock: Clock): CloudClient {
    return new CloudLink({
      ...{ cloud: this.fake, weather: this.#weather, worldClock: this.#world.clock, clock },
      onCall: (name, args) => {
        if (name === 'create') this.#ordered((args as { az?: string | null }).az ?? undefined);
      },
    });
  }

  /** Multiplies the boot time from now on. */
  slowDown(times: number): void {
    this.#slowness = times;
    this.#setBootTime();
  }

  #ordered(zone: string | undefined): void {
    this.orders++;
    if (zone === undefined || zone !== this.emptyZone) return;
    throw new CloudFailure('capacity', `no valid host was found: no capacity left in ${zone}`);
  }

  #changed(id: string, instance: CloudInstance | null): void {
    const before = this.#booting.size;
    if (instance?.status === 'building') this.#booting.add(id);
    else this.#booting.delete(id);
    this.mostBooting = Math.max(this.mostBooting, this.#booting.size);
    if (this.#booting.size !== before && Math.max(before, this.#booting.size) > AT_ONCE) this.#setBootTime();
  }

  #setBootTime(): void {
    const times = this.#slowness * Math.max(1, this.#booting.size / AT_ONCE);
    this.fake.set('create-time', { uniform: [BOOT_S.from * times, BOOT_S.to * times] });
  }
}
