export type { Clock, CancelTimer } from './base/clock.js';
export { systemClock, patientClock, delay, setDeadline, steadyNow } from './base/clock.js';
export { backoffMs } from './base/backoff.js';
export type { BackoffOptions } from './base/backoff.js';
export { orAbort } from './base/or-abort.js';
export { makeDirectory, makeDirectorySync } from './base/make-directory.js';
export { replaceFile } from './base/replace-file.js';
export {
  checkOwnDirectory,
  checkPlaceOfService,
  checkPrivilegedDirectory,
  checkServiceFile,
  checkSharedPlace,
  makePrivateDirectory,
} from './base/own-directory.js';
export { escapeControlCharacters, escapeForTerminal, isPlain } from './base/visible-text.js';
export { checkUnixSocket, makeSocketDirectory, MAX_SOCKET_PATH_BYTES } from './base/unix-socket.js';
export { NodepoolError, isNodepoolError } from './base/errors.js';
export type {
  Acl,
  ConnectionCounters,
  ConnectionState,
  CreateOptions,
  Operation,
  OperationResult,
  ReadOperation,
  ReadResult,
  ServerAddress,
  Stat,
  WatchEvent,
  WatchListener,
  ZooKeeper,
  ZooKeeperConnection,
} from './client/contract/types.js';
export type { ZooKeeperErrorCode } from './client/contract/errors.js';
export { ZooKeeperError, MultiError, isZooKeeperError } from './client/contract/errors.js';
export { connect, createZooKeeper, openAcl } from './client/connect.js';
export type { ZooKeeperOptions } from './client/connect.js';
export type { Lookup, OpenStream } from './client/dial.js';
export type { ZooKeeperTlsOptions } from './client/tls.js';
export type { ZooKeeperLogger } from './base/logger.js';
export { formatServer } from './base/server-address.js';
export { parseConnectString, toEnsemble } from './client/servers.js';
export type { Ensemble } from './client/servers.js';
export type {
  Branded,
  BuildRecord,
  ComponentRecord,
  DeclineReason,
  Json,
  JsonObject,
  LauncherId,
  NodeId,
  NodeRecord,
  NodeState,
  PoolComponentRecord,
  CertificateMode,
  RecordBase,
  RequestId,
  RequestRecord,
  RequestState,
  Resources,
  UploadRecord,
} from './records/types.js';
export { NODE_STATES, REQUEST_STATES } from './records/types.js';
export type {
  CommitTarget,
  Committer,
  LockAware,
  PendingCommit,
  RecordCache,
  RecordChange,
  UnreadableRecord,
} from './cache/types.js';
export { RecordError, TransitionError } from './records/errors.js';
export { numberAsRead } from './records/exact-json.js';
export { isMap, listOf, mapOf, mapsOf, numberOf, textOf, textsOf } from './records/json-values.js';
export type { NodeFields } from './records/node.js';
export { decodeNode, encodeNode, newNode, withNode } from './records/node.js';
export type { RequestFields, RequestOrder } from './records/request.js';
export { decodeRequest, encodeRequest, newRequest, withRequest } from './records/request.js';
export { compareRequests } from './records/request.js';
export { CERTIFICATE_MODES } from './records/types.js';
export type { ModelApiVerdict } from './records/component.js';
export { DEFAULT_POOL_PRIORITY, MODEL_API, judgeModelApi } from './records/component.js';
export { decodeComponent, encodeComponent, newComponent, newPoolComponent } from './records/component.js';
export { CERTIFICATES_KEY, certificateMode, PARKED_KEY } from './records/component.js';
export { isPoolComponent, withComponent, decodeLegacyLauncher, encodeLegacyLauncher } from './records/component.js';
export type { BuildFields, BuildKey, UploadFields, UploadKey } from './records/image.js';
export { decodeBuild, encodeBuild, newBuild, withBuild } from './records/image.js';
export { decodeUpload, encodeUpload, newUpload, withUpload } from './records/image.js';
export { encodePauseReason } from './records/image.js';
export type { ControlKind, ControlMode, ControlRecord, ControlSubject } from './records/control.js';
export { CONTROL_KINDS, CONTROL_MODES, controlId, controlPath } from './records/control.js';
export {
  decodeControl,
  describeControl,
  encodeControl,
  isInForce,
  newControl,
  WRONG_CLOCK_MS,
} from './records/control.js';
export type { LeaseRecord, LeaseState, NewLease } from './records/lease.js';
export { isLent, LEASE_REQUESTOR, LEASE_STATES, leaseHolding, leaseOf, leasePath } from './records/lease.js';
export { decodeLease, encodeLease, newLease, withLease } from './records/lease.js';
export { isLocalOwner, localOwner } from './records/local-owner.js';
export type { LeaseRights, LeaseTokenRecord } from './records/lease-token.js';
export {
  decodeLeaseToken,
  encodeLeaseToken,
  isSignedLeaseToken,
  newLeaseToken,
  signLeaseToken,
} from './records/lease-token.js';
export { LEASE_TOKEN_NAME, leaseSlotPath, leaseSlotsPath, leaseTokenPath } from './records/lease-token.js';
export type { NodeActor, NodeTransition, RequestActor, RequestTransition, Transition } from './records/states.js';
export { NODE_TRANSITIONS, REQUEST_TRANSITIONS, UNLOCKED_GARBAGE_STATES } from './records/states.js';
export { assertNodeTransition, assertRequestTransition } from './records/states.js';
export { isFree, isKnownNodeState, isIdle, isStartable, isParked } from './records/states.js';
export type { PathShape } from './records/paths.js';
export { NODEPOOL_ROOT, NODES_ROOT, NODE_CREATE_PATH, REQUESTS_ROOT, REQUEST_LOCKS_ROOT } from './records/paths.js';
export {
  CONTROLS_ROOT,
  IMAGES_ROOT,
  COMPONENTS_ROOT,
  DATABASE_ID_PATH,
  AGREED_TIME_PATH,
  LEASES_ROOT,
  LEASE_SLOTS_ROOT,
  LEASE_TOKENS_ROOT,
  LEGACY_LAUNCHERS_ROOT,
  STATS_ELECTION_PATH,
} from './records/paths.js';
export { nodePath, nodeLockPath, requestPath, requestLockPath, requestCreatePath } from './records/paths.js';
export { imagePath, imagePausePath, imageBuildRequestPath, imageBuildLockPath } from './records/paths.js';
export { buildsPath, buildPath, buildLockPath, buildProvidersPath, buildProviderPath } from './records/paths.js';
export { uploadsPath, uploadPath, uploadLockPath, uploadNumberLockPath } from './records/paths.js';
export { componentsPath, componentPath, componentCreatePath, legacyLauncherPath } from './records/paths.js';
export { classifyPath, lastPart } from './records/paths.js';
export type { BuildRequest } from './recipes/build-request.js';
export { removeBuildRequest, requestBuild } from './recipes/build-request.js';
export type { LockEntry } from './recipes/lock-entries.js';
export { uuidHex, newLockEntryPrefix, parseLockEntry, sortContenders } from './recipes/lock-entries.js';
export { findPredecessor, findForceUnlockTarget } from './recipes/lock-entries.js';
export type { CacheOptions, NodeCacheOptions } from './cache/record-caches.js';
export type {
  ComponentCache,
  ControlCache,
  LeaseCache,
  LeaseTokenCache,
  NodeCache,
  RequestCache,
} from './cache/record-caches.js';
export {
  createComponentCache,
  createControlCache,
  createLeaseCache,
  createLeaseTokenCache,
  createNodeCache,
  createRequestCache,
} from './cache/record-caches.js';
export type { ImageChange, ImageEntry, ImageTreeOptions } from './cache/image-tree.js';
export { ImageTree } from './cache/image-tree.js';
export { createCommitter } from './cache/committer.js';
export type { LockFailure, LockOps, LockOpsOptions } from './recipes/lock-ops.js';
export { lockFailure, lockOps, unlockOps } from './recipes/lock-ops.js';
export type { AcquireOptions, LockHolder, ZkLockOptions } from './recipes/lock.js';
export { ZkLock } from './recipes/lock.js';
export { Election } from './recipes/election.js';
export { ensureDatabaseId, readDatabaseId } from './recipes/database-id.js';
export { isOlderCopy, readDatabaseMark, writeDatabaseMark } from './recipes/database-mark.js';
export type { DatabaseMark, DatabaseOrder } from './recipes/database-mark.js';
export { removeControl, storeControl, storeRecord } from './recipes/store-control.js';
export { LockLostError, LockTimeoutError } from './recipes/errors.js';
