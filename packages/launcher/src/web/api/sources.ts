import type { Clock, JsonObject, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { ApiOperation, ShownConditions } from '@nodepool/daemon';
import type { History } from '@nodepool/history';
import type { Launcher, Leases } from '@nodepool/core/launcher';
import type { LeaseCertificates } from '../../certificates/lease-certificates.js';
import type { ActivityLog } from './activity-log.js';
import type { TokenTrust } from './token-trust.js';

/** Operations of the API, and the schemas that they name. */
export interface ApiPart {
  readonly operations: readonly ApiOperation[];
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

/** Data sources of the launcher's API. All reads come from memory. */
export interface LauncherApiSources {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly hostname: string;
  readonly activity: ActivityLog;
  readonly history: Pick<History, 'read' | 'page' | 'addTo'>;
  /** Of features. */
  readonly more: readonly ApiPart[];
  /** Address at which other launchers find this one; `undefined` before it listens. */
  readonly webUrl: () => string | undefined;
  readonly config: () => Config;
  /** Missing: the launcher lends nothing over HTTP. */
  readonly lending?: Lending | undefined;
  /** Current conditions of all services. */
  readonly conditions: Pick<ShownConditions, 'merged'>;
  readonly runtime: Pick<
    Launcher,
    | 'events'
    | 'nodes'
    | 'requests'
    | 'images'
    | 'components'
    | 'allComponents'
    | 'poolStatus'
    | 'providerErrors'
    | 'drainingProviders'
    | 'failingDeletions'
    | 'hosts'
    | 'controls'
    | 'notReady'
    | 'explain'
    | 'isUnknownLabel'
    | 'onImageChange'
  >;
}

/** Leases, what says which tokens give rights to them, and what lets lessees log in. */
export interface Lending {
  readonly leases: Leases;
  readonly trust: TokenTrust;
  readonly certificates: LeaseCertificates;
}

/** What calls about leases need. */
export interface LeaseSources extends Pick<LauncherApiSources, 'clock' | 'config' | 'conditions'>, Lending {
  readonly runtime: Pick<Launcher, 'isUnknownLabel' | 'components' | 'requests' | 'explain'>;
}
