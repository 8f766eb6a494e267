import { checkPort, isFakeHost } from '@nodepool/core';
import type { HostLookup, NodeRequestHandler } from '@nodepool/core';
import type { Clock, NodeRecord } from '@nodepool/zk-protocol';
import type { HostConfig } from './config.js';

/** What a handler asks of its provider. */
export interface HandlerServices {
  readonly clock: Clock;
  readonly lookup: HostLookup;
  /** The configured host a record stands for. */
  hostOf(node: NodeRecord): HostConfig | undefined;
  /** The host behind the record does not answer, or is not configured any more. */
  rejected(node: NodeRecord): void;
}

/** Hands out what is registered; nothing is ever launched. */
export class StaticRequestHandler implements NodeRequestHandler {
  readonly #services: HandlerServices;

  constructor(services: HandlerServices) {
    this.#services = services;
  }

  imagesAvailable(): boolean {
    return true;
  }

  /** A last look whether the host is alive: its port answers. Hosts without host key checking are taken on trust. */
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
