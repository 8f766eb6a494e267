import type { LaunchOrder, LaunchResult, NodeRequestHandler } from '@nodepool/core';
import type { NodeRecord } from '@nodepool/zk-protocol';

/** What a handler needs of its provider. */
export interface HandlerProvider {
  launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult>;
  /** Whether jobs may still be started on the node's backing node. */
  isUsable(node: NodeRecord): boolean;
  /** A ready node that cannot be used any more. */
  rejected(node: NodeRecord): void;
}

/** Serves one request with slots. */
export class MetastaticRequestHandler implements NodeRequestHandler {
  readonly #provider: HandlerProvider;

  constructor(provider: HandlerProvider) {
    this.#provider = provider;
  }

  /** Slots need none of their own. */
  imagesAvailable(): boolean {
    return true;
  }

  launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    return this.#provider.launch(order, signal);
  }

  checkReusableNode(node: NodeRecord): boolean {
    return this.#provider.isUsable(node);
  }

  nodeRejectedNotification(node: NodeRecord): void {
    this.#provider.rejected(node);
  }
}
