import type { LaunchOrder, LaunchResult, NodeRequestHandler } from '@nodepool/core';
import type { NodeRecord } from '@nodepool/zk-protocol';

/** Parts of the provider that a handler uses. */
export interface HandlerProvider {
  launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult>;
  /** Whether jobs may still be started on the node's backing node. */
  isUsable(node: NodeRecord): boolean;
  /** Called for a ready node that can no longer be used. */
  rejected(node: NodeRecord): void;
}

/** Serves one request with slots. */
export class MetastaticRequestHandler implements NodeRequestHandler {
  readonly #provider: HandlerProvider;

  constructor(provider: HandlerProvider) {
    this.#provider = provider;
  }

  /** Slots need no image. */
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
