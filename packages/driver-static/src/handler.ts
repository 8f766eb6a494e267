import type { NodeRequestHandler } from '@nodepool/core';
import { checkPort, isFakeHost, type HostLookup } from '@nodepool/core/ssh';
import type { Clock, NodeRecord } from '@nodepool/zk-protocol';
import type { HostConfig } from './config.js';

/** Parts of the provider that a handler uses. */
export interface HandlerServices {
  readonly clock: Clock;
  readonly lookup: HostLookup;
  /** The configured host of a record. */
  hostOf(node: NodeRecord): HostConfig | undefined;
  /** Called when the host of the record does not answer or is no longer configured. */
  rejected(node: NodeRecord): void;
}

/** Assigns registered nodes; never launches one. */
export class StaticRequestHandler implements NodeRequestHandler {
  readonly #services: HandlerServices;

  constructor(services: HandlerServices) {
    this.#services = services;
  }

  imagesAvailable(): boolean {
    return true;
  }

  /** Checks that the port of the host answers. A host without host key checking is not contacted. */
  checkReusableNode(node: NodeRecord, signal: AbortSignal): boolean | Promise<boolean> {
    const host = this.#services.hostOf(node);
    if (host === undefined) return false;
    if (!host.hostKeyChecking || isFakeHost(host.name)) return true;
    const { clock, lookup } = this.#services;
    return checkPort({ host: host.name, port: host.port, timeoutMs: host.timeoutMs, clock, lookup, signal });
  }

  nodeRejectedNotification(node: NodeRecord): void {
    this.#services.rejected(node);
  }
}
