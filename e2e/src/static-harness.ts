import {
  type SshdHandle,
  type SshdOptions,
  type SshHost,
  startSshd,
  type ZooKeeperOptions,
} from '@nodepool/test-servers';
import { type Ground, Harness, startGround } from './harness.js';
import { staticNodeProblems } from './inventory.js';
import { type ExpectedSlot, expectedSlots, staticConfig, type StaticSetup } from './static-config.js';

/** Servers for all tests of a file. */
export interface StaticOptions {
  zookeeper?: ZooKeeperOptions;
  sshd?: SshdOptions;
}

const uniqueSlots = (slots: ExpectedSlot[]): ExpectedSlot[] => [
  ...new Map(slots.map((slot) => [JSON.stringify(slot), slot])).values(),
];

/** Static nodes: real SSH servers. At rest each configured slot is registered once and ready. */
export class StaticHarness extends Harness<StaticSetup> {
  private constructor(
    ground: Ground,
    readonly sshd: SshdHandle,
  ) {
    super(ground);
  }

  /** Starts ZooKeeper and SSH servers. */
  static async start({ zookeeper, sshd }: StaticOptions = {}): Promise<StaticHarness> {
    const sshdOptions: SshdOptions = { keyTypes: ['ed25519', 'ecdsa'], ...sshd };
    const [ground, hosts] = await Promise.all([startGround(zookeeper), startSshd(sshdOptions)]);
    return new StaticHarness(ground, hosts);
  }

  /** One of the hosts, counted from 0. */
  host(index: number): SshHost {
    const host = this.sshd.hosts[index];
    if (host === undefined) throw new Error(`no host ${index}: there are ${this.sshd.hosts.length}`);
    return host;
  }

  protected override configOf(setup: StaticSetup): Record<string, unknown> {
    return staticConfig(setup);
  }

  protected override nodeProblems(setups: readonly StaticSetup[]): Promise<string[]> {
    return staticNodeProblems(this.zk, uniqueSlots(setups.flatMap(expectedSlots)));
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.sshd.stop();
  }
}
