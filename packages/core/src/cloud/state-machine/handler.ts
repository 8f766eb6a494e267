import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { LaunchOrder, LaunchResult, NodeRequestHandler } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { StateMachinePoolConfig } from './types.js';

/** What a handler needs of its provider. */
export interface HandlerPort {
  launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult>;
  labelReady(pool: string, label: string): boolean;
  /** @param label - of the first node of the request */
  chooseZone(pool: StateMachinePoolConfig, label: string | undefined): string | null;
  /** What a new node of the label takes over from its image. */
  imageFields(pool: StateMachinePoolConfig, label: string): Partial<NodeRecord>;
}

/** Works one request for a provider of a state-machine driver. All nodes of a request share one zone. */
export class StateMachineHandler implements NodeRequestHandler {
  readonly #port: HandlerPort;
  readonly #pool: StateMachinePoolConfig;
  readonly #request: RequestRecord;
  #az: string | null = null;

  constructor(port: HandlerPort, pool: PoolConfig, request: RequestRecord) {
    this.#port = port;
    // The pools of a state-machine provider are of its own kind.
    this.#pool = pool as StateMachinePoolConfig;
    this.#request = request;
  }

  imagesAvailable(): boolean {
    return this.#request.labels.every((label) => this.#port.labelReady(this.#pool.name, label));
  }

  launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    return this.#port.launch(order, signal);
  }

  acceptsNode(node: NodeRecord): boolean {
    return this.#az === null || node.az === this.#az;
  }

  nodeReusedNotification(node: NodeRecord): void {
    this.#az ??= node.az;
  }

  setNodeMetadata(node: NodeRecord): NodeRecord {
    const [label] = node.labels;
    this.#az ??= node.az ?? this.#port.chooseZone(this.#pool, label);
    const fields = label === undefined ? {} : this.#port.imageFields(this.#pool, label);
    return { ...node, ...fields, az: this.#az };
  }
}
