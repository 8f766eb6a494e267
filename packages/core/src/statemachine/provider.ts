import type { NodeRequestHandler, PoolConfig, Provider, ProviderContext } from '../driver/types.js';
import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Adapter, AdapterContext, StateMachineProviderConfig } from './types.js';

/** A running provider of any state-machine driver: makes nodes with the machines of its adapter. */
export class StateMachineProvider implements Provider {
  readonly config: StateMachineProviderConfig;

  constructor(
    config: StateMachineProviderConfig,
    _context: ProviderContext,
    _getAdapter: (context: AdapterContext) => Adapter,
  ) {
    this.config = config;
  }

  start(_signal: AbortSignal): Promise<void> {
    return Promise.reject(new Error('not written yet'));
  }
  idle(): void {}
  stop(): void {}
  join(): Promise<void> {
    return Promise.resolve();
  }
  labelReady(_pool: string, _label: string): boolean {
    return true;
  }
  getRequestHandler(_pool: PoolConfig, _request: RequestRecord): NodeRequestHandler {
    throw new Error('not written yet');
  }
  startNodeCleanup(_node: NodeRecord, _signal: AbortSignal): Promise<void> | undefined {
    return undefined;
  }
  cleanupLeakedResources(_signal: AbortSignal): Promise<void> {
    return Promise.resolve();
  }
  errorLabels(): ReadonlySet<string> {
    return new Set();
  }
}
