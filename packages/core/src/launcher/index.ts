export { resourceConditions, type UnrecordedResources } from './conditions/resource-conditions.js';
export { Registration } from './registry/registration.js';
export type { LauncherOptions } from './options.js';
export { Launcher } from './launcher.js';
export type { EndedWork } from '../contract/request-outcome.js';
export type { PoolStatus } from './pools/pool-status.js';
export type { FaultKind } from './providers/guard/driver-scope.js';
export type { DriverScope } from './providers/guard/driver-scope.js';
export type { HealthReport, HealthState, SteeringReport, SteeringView, ZoneReport } from './plan/steering.js';
export { currentDriverScope } from './providers/guard/driver-scope.js';
export type { ObservedConfig, ObservedView, ObserverOptions } from './observe/observer.js';
export { Observer } from './observe/observer.js';
export type { ConfigChange, ConfigChangeInput, PartChange, RequestChange } from './preview/types.js';
export { planConfigChange } from './preview/config-change.js';
export type { LimitChange } from './preview/limit-changes.js';
export { registryAfter } from './preview/registry-after.js';
export type { Offer } from './preview/servable.js';
export type {
  ExplainSubject,
  LaunchExplanation,
  PoolExplanation,
  RequestExplanation,
  FreeNodesExplanation,
} from './plan/explanation.js';
export type {
  DecidingPool,
  DecisionReason,
  Launch,
  LauncherEventMap,
  PlannedWaits,
  PoolChange,
} from './state/events.js';
export { LauncherEvents } from './state/events.js';
export type { PoolLoad } from '../contract/pool-load.js';
export type { DrainingStatus } from './providers/draining-providers.js';
export type { DeletionStatus } from './nodes/reaper.js';
export type { NodeLevel } from './plan/nodes.js';
export type { Engine, Feature, MakeFeature } from './nodes/feature.js';
export { FEATURES } from '../features/index.js';
export { RULES } from './plan/types.js';
export type { Assignment, AssignmentPart, PlannedRequest, PoolView, Reason, RuleName, Verdict } from './plan/types.js';
export type { QuotaView, Reservation } from './plan/types.js';
export { leasesOf } from '../features/leases/index.js';
export { LeaseLimitError, type LeaseAgeError, type LeaseSpec } from '../features/leases/lease-spec.js';
export type { Leases, LeaseView } from '../features/leases/leases.js';
