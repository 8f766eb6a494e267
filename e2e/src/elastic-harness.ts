import { join } from 'node:path';
import type { ZooKeeperOptions } from '@nodepool/test-servers';
import { elasticConfig, type ElasticSetup } from './elastic-config.js';
import { FakeCloudProcess } from './fake-cloud.js';
import { Harness, startGround } from './harness.js';
import { elasticNodeProblems } from './inventory.js';

/** Instances of a fake cloud that each test has of its own. At rest there is one for each standby node, and no other. */
export class ElasticHarness extends Harness<ElasticSetup> {
  /** Ready nodes that no request has asked for: as many belong to a system at rest. */
  standby = 0;
  #cloud: FakeCloudProcess | undefined;

  /** Starts ZooKeeper. */
  static async start(options: ZooKeeperOptions = {}): Promise<ElasticHarness> {
    return new ElasticHarness(await startGround(options));
  }

  /** The cloud of the present test. */
  get cloud(): FakeCloudProcess {
    if (!this.#cloud) throw new Error('the cloud has not been started');
    return this.#cloud;
  }

  /** Begins the next test, with an empty cloud. */
  override async startTest(): Promise<void> {
    await super.startTest();
    this.standby = 0;
    this.#cloud = await FakeCloudProcess.start(join(this.testDir, 'cloud'));
  }

  protected override configOf(setup: ElasticSetup): Record<string, unknown> {
    return elasticConfig(setup, this.cloud.dir);
  }

  protected override nodeProblems(): Promise<string[]> {
    return elasticNodeProblems(this.zk, this.standby, this.cloud.instances);
  }

  /** Ends the cloud as well. */
  override async endTest(): Promise<void> {
    await super.endTest();
    await this.#cloud?.stop();
    this.#cloud = undefined;
  }
}
