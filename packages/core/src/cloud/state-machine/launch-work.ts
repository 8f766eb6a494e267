import type { NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { LaunchOrder } from '../../contract/driver.js';
import { NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import type { RunMachineOptions } from '../operations/run-machine.js';
import type { LaunchServices } from './launch-services.js';
import type { NodeImage } from './node-fields.js';
import type { StateMachineLabelConfig, StateMachinePoolConfig } from './types.js';

/** What the stages and attempts of one launch share. */
export class LaunchWork {
  readonly services: LaunchServices;
  readonly order: LaunchOrder;
  readonly label: StateMachineLabelConfig;
  readonly pool: StateMachinePoolConfig;
  /** Fires when nothing may be touched any more. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Instances of earlier attempts that may still exist. */
  readonly leftovers = new Set<string>();
  /** An earlier attempt ended before the cloud told an id. */
  mayHaveUnknown = false;
  /** Of the attempt at work, once known. */
  image: NodeImage | undefined;
  #node: NodeRecord;
  #storeError: Error | undefined;

  constructor(services: LaunchServices, order: LaunchOrder, signal: AbortSignal, logger: Logger) {
    this.services = services;
    this.order = order;
    // The pools of a state-machine provider have labels of its own kind.
    this.label = order.label as StateMachineLabelConfig;
    this.pool = order.pool as StateMachinePoolConfig;
    this.signal = signal;
    this.#node = order.node;
    this.logger = logger.child({ nodeId: order.node.id, pool: order.pool.name });
  }

  /** The node as last stored. */
  get node(): NodeRecord {
    return this.#node;
  }

  /** Set when storing the node failed: its lock is lost, nothing may be touched any more. */
  get storeError(): Error | undefined {
    return this.#storeError;
  }

  /** Stores changed fields of the node. */
  async store(changes: Partial<NodeRecord>): Promise<void> {
    this.signal.throwIfAborted();
    try {
      this.#node = await this.order.store(changes);
    } catch (error) {
      this.#storeError = asError(error);
      throw error;
    }
  }

  /** How to run a state machine of the driver. */
  runOptions(signal: AbortSignal): RunMachineOptions {
    const { clock, instances, metrics, config, random } = this.services;
    return {
      clock,
      instances,
      signal,
      random,
      logger: this.logger,
      onTransition: (transition) => metrics?.transition?.(config.name, transition),
    };
  }

  /** By which an instance is known as the node's. */
  tags(): Record<string, string> {
    return {
      [NODE_ID_TAG]: this.#node.id,
      [POOL_TAG]: this.pool.name,
      [PROVIDER_TAG]: this.services.config.name,
    };
  }
}
