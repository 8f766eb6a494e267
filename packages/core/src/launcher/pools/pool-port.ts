import type { Config } from '../../contract/config.js';
import type { RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { Activity, ConfigSource, NodeRemoval } from '../mirror/ports.js';
import type { ProviderSteering } from '../steering/provider-steering.js';
import type { PoolCandidates } from './pool-candidates.js';
import type { PoolRegistry } from './pool-registry.js';
import type { SharedPools } from './shared-pools.js';

/** What the view of a pool learns from the launcher around it. */
export interface PoolViewPort extends Pick<ConfigSource, 'disabledLabels' | 'tenantLimit'> {
  /** Providers and their pools as they are configured. */
  readonly config: () => Pick<Config, 'providers'>;
  /** Pools that may serve requests, registered or about to be. */
  readonly candidates: Pick<PoolCandidates, 'pools'>;
  /** Missing: no other launcher has the pool. */
  readonly shared?: Pick<SharedPools, 'ownFirst'> | undefined;
  /** What launches have shown of a provider; `undefined`: it is not steered around. */
  steering(provider: string): ProviderSteering | undefined;
  /** A pool of this process works on the request. */
  isOurs(request: RequestId): boolean;
}

/** What a pool learns from the launcher around it, and what it asks of that launcher. */
export interface PoolPort extends PoolViewPort, Activity, NodeRemoval {
  readonly version: string;
  /** Also register below `/nodepool/launchers`. */
  readonly announceLegacy: boolean;
  readonly registry: Pick<PoolRegistry, 'pools' | 'onChange'>;
  readonly candidates: Pick<PoolCandidates, 'pools' | 'isRefusedByAll' | 'seemsRefusedByAll'>;
  /** The pool has ceased to wait for resources of its provider, which other pools of that provider may have now. */
  reservationsEnded(provider: string, pool: string): void;
  /** What a handler of this process has left behind is being removed: no pool may lock the request meanwhile. */
  isRecovering(request: RequestId): boolean;
  /** Gives up the lock of a fulfilled request in a moment. @param entry - path of our entry in it */
  unlockLater(entry: string): void;
  /** A handler lost track of what it wrote. @param epoch - of the session it wrote in */
  onAbandoned(request: RequestRecord, epoch: number): void;
}
