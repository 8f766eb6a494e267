import type { FoundCondition } from '../contract/condition.js';
import type { ConditionType } from './condition-type.js';
import { ZOOKEEPER_TYPES } from './zookeeper-types.js';

/** All types of services, commands and the drivers of this repository. Other drivers may define their own. */
export const CONDITION_TYPES = {
  ConfigurationNotLoaded: {
    ...{ kind: 'configuration', severity: 'error' },
    meaning: 'a changed configuration is not loaded; the previous one stays in force',
    reasons: {
      Invalid: 'the file has errors; the message names their positions',
      Replaced:
        'a container has the file by a bind mount, and it was replaced on the host: it still sees the former file',
    },
    nextStep: 'nodepool config-validate; correct the file',
  },
  RestartNeeded: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning: 'the file has changed settings that take effect at the next start',
    reasons: { SettingChanged: 'the message names the settings' },
    nextStep: 'restart the service, or revert the change',
  },
  ConfigurationProblem: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning:
      'the file on the machine of the command has an error or a warning, or the configuration in force in a service has warnings',
    reasons: {
      Invalid: 'the message names the position, on the machine of the command',
      Warnings:
        'a service found them, such as an unknown key, which it ignores; the message has their number and the first position',
    },
    nextStep: 'nodepool config-validate; correct the file',
  },
  SecretsReadable: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning: 'other users can read a file with secrets',
    reasons: { Mode: 'its permission bits' },
    nextStep: 'chmod 600 FILE',
  },
  NoLauncher: {
    ...{ kind: 'launcher', severity: 'error' },
    meaning: 'no launcher is registered, so requests wait',
    reasons: { NotRegistered: 'no launcher runs, or all use another ZooKeeper or chroot' },
    nextStep: 'start nodepool-launcher',
  },
  NoBuilder: {
    ...{ kind: 'builder', severity: 'warning' },
    meaning:
      'images are configured in a launcher, and it has seen no builder registered for five minutes; present images stay in service',
    reasons: { NotRegistered: 'no builder runs, or all use another ZooKeeper or chroot' },
    nextStep: 'start nodepool-builder',
  },
  LauncherGone: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning:
      'a launcher left the registry without a stop, as another launcher saw; ends when it returns (same host and web address), or after an hour',
    reasons: { NotStopped: 'it was killed, it hangs, its machine is gone, or it does not reach ZooKeeper' },
    nextStep:
      'continue or end a process that hangs, as it keeps its port; start one that is gone, and look at the end of its log',
  },
  NoAnswer: {
    ...{ kind: 'launcher', severity: 'error' },
    meaning: 'a service is registered, but its web server does not answer; its other conditions are `unknown`',
    reasons: { Unreachable: 'no connection, or no answer in time' },
    nextStep: 'check the process and its log',
  },
  ClockSkew: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the clock of a service differs from that of the machine of the command by more than 5 s',
    reasons: { Clock: 'one of the two clocks is wrong' },
    nextStep: 'timedatectl set-ntp true, on the machine whose clock is wrong',
  },
  TokensRefused: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'tokens in ZooKeeper give no rights at a launcher, as no key that it has signed their records',
    reasons: {
      NoKey: 'its secure file has no `token-keys`, which are needed with `zookeeper-servers`',
      NotSigned: 'they were made by an earlier version, with another key, or by another program',
    },
    nextStep:
      'put the same `token-keys` into the secure file of all launchers; revoke the tokens, and create them again',
  },
  HistoryNotWritten: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the history of requests and nodes cannot be written; events are lost until it can',
    reasons: { NoSpace: 'the disk is full', NotWritable: 'the directory cannot be written' },
    nextStep: 'free space, or correct the permissions of the directory',
  },
  NoSpace: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning:
      'the disk of the state directory, which holds the embedded ZooKeeper and the history, is nearly full; an error when it is full',
    reasons: { Scarce: 'less than 100 MiB', Full: 'less than 1 MiB' },
    nextStep: 'free space on the disk',
  },
  LogNotWritten: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the log of a service cannot be written; lines are kept up to 1 MiB, then the oldest are lost',
    reasons: { NoSpace: 'the disk is full', NotWritable: 'the file cannot be written' },
    nextStep: 'free space on the disk of the log, or correct its permissions; no restart is needed',
  },
  ConditionsLeftOut: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'a service has more conditions than its registry entry holds',
    reasons: { TooMany: 'the message has the number' },
    nextStep: 'resolve the conditions that are shown',
  },
  ...ZOOKEEPER_TYPES,
  NotStarted: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'a provider failed to start; retried with back-off',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  Unserved: {
    ...{ kind: 'provider', severity: 'error' },
    meaning:
      'the driver of a provider is not installed or not known, so the service leaves the provider alone; a warning if another launcher serves it, and in a builder if it lists no diskimages',
    reasons: { DriverMissing: 'the message names the driver' },
    nextStep:
      'install the driver, or correct its name, and reload; or leave the provider to a launcher that has the driver',
  },
  LaunchesFail: {
    ...{ kind: 'provider', severity: 'error' },
    meaning:
      'consecutive launches in a provider, or other calls to its cloud, failed; requests go to other providers, if any',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  LabelLaunchesFail: {
    ...{ kind: 'label', severity: 'warning' },
    meaning:
      'three launch attempts of one label in one provider failed in a row, or two within more than 20 s, whatever other labels do there; the name is `PROVIDER/LABEL`',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  LoginRefused: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'the cloud refuses the credentials of a provider',
    reasons: {
      Unauthorized: 'the cloud does not know the user, the password or the key',
      NoAccessToken: 'the credentials cannot be read, or yield no token',
      Untrusted: 'the daemon of LXD or Incus does not trust the certificate of the launcher',
    },
    nextStep: 'correct the credentials of the provider',
  },
  LoginEnds: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'a program of a kubeconfig file has printed credentials that have ended, or end within a minute, for more than a minute; it runs every few seconds',
    reasons: {
      Expired: 'they have ended; the message has the program',
      Short: 'they end within a minute; the message has the program',
    },
    nextStep: 'log in again with the program, or let it print credentials that are valid for several minutes',
  },
  CallsPaused: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'the cloud refuses calls of a provider as too many; calls of this kind are paused as it asks, for five minutes at a time at most; others are made',
    reasons: { TooManyCalls: 'the message names the calls, the refusal, and when the next call is made' },
    nextStep: 'wait; if it comes back, lower the `rate` of the provider, or have the limit of the account raised',
  },
  CallsUnanswered: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'calls to the cloud of a provider have had no answer for 20 s, or none that says what they did',
    reasons: { Timeout: 'the message names the calls', Unavailable: 'orders of instances; the message has the error' },
    nextStep: 'look at the API of the cloud; a longer `launch-timeout` does not help',
  },
  ZoneSilent: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'zones of a provider fail to list their instances; nodes there are not deleted until they do; other zones work',
    reasons: { ZoneFails: 'the message names the zones, with their errors' },
    nextStep: 'check the status page of the cloud; remove the zones from the provider if the failure lasts',
  },
  UnreadableEntries: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'lists of a cloud have entries that are empty, half filled or of a wrong type; they are left out and neither used nor deleted; all others work',
    reasons: { Unreadable: 'the message has their number, their kinds and, where they are known, their ids' },
    nextStep:
      'look at these with the tools of the cloud, and repair or delete them; a reload reads all lists at once, else some are read after an hour',
  },
  WatchFails: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'changes in a cluster do not arrive; nodes are checked one by one until they do',
    reasons: { WatchFails: 'the message has the error of the API server' },
    nextStep: 'check the API server, and whether the launcher may list and watch',
  },
  DeletionsHang: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'deleted namespaces or pods of a provider are not gone after a minute',
    reasons: { Finalizers: 'the message names what holds them' },
    nextStep: 'repair the controllers of these finalizers',
  },
  RightsMissing: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'the account of the launcher lacks verbs; the message names them all, and what their absence costs',
    reasons: { Forbidden: 'the cluster says so, of a call or in a review of the rules' },
    nextStep: 'allow these verbs, or leave it as it is',
  },
  TokensShortened: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'a cluster gives tokens for a shorter time than asked for, so jobs may outlive them',
    reasons: { Shortened: 'the message has both times' },
    nextStep: 'lower token-expiry, or let the API server give longer ones',
  },
  SlowLaunches: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'launches take much longer than usual; other providers of the same priority are preferred',
    reasons: { Slow: 'the cloud is slow' },
    nextStep: 'wait until the cloud recovers',
  },
  NotRegistered: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'the configuration on the machine of the command has a provider that no launcher has registered',
    reasons: { NoPool: 'no launcher has it, or none has loaded the file' },
    nextStep: 'compare the configuration of the launchers, and check their logs',
  },
  Draining: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'a provider left the configuration and still has nodes; the launcher deletes free nodes within about two minutes, and all others after use',
    reasons: { LeftConfiguration: 'its entry was removed' },
    nextStep: 'end the holds and jobs on its nodes, or wait; do not erase it, and do not stop the launcher',
  },
  NodesWithoutProvider: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'ZooKeeper has nodes of a provider that no launcher has, so they are never deleted',
    reasons: { UnknownProvider: 'no launcher has the provider, and none drains it' },
    nextStep: 'restore the entry of the provider until its nodes are gone',
  },
  ResourcesLeaked: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'the cloud has resources of this database without a record; they are deleted; an error if the deletion fails',
    reasons: {
      NoRecord: 'they are deleted when found again',
      DeletionFails: 'the deletion failed',
      DatabaseReplaced: 'the data of ZooKeeper was lost or replaced, so nothing is deleted',
    },
    nextStep:
      'with DeletionFails: delete them with the tools of the cloud; with DatabaseReplaced: restore the data of ZooKeeper',
  },
  ResourcesWithoutProof: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'resources carry the name of the provider without proof that they belong to this database; they are not deleted',
    reasons: { NoDatabaseId: 'they carry no database id' },
    nextStep: 'nodepool adopt PROVIDER',
  },
  ResourcesOfOtherDatabase: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'resources carry the name of the provider and the id of another database; they are not deleted',
    reasons: { OtherDatabase: 'another installation uses the provider, or this service uses the wrong database' },
    nextStep: 'check zookeeper-servers and --state-dir',
  },
  NotServed: {
    ...{ kind: 'label', severity: 'error' },
    meaning: 'no pool of any launcher can serve a label now',
    reasons: {
      NoPool: 'no pool has the label',
      PoolDisabled: 'max-servers or max-concurrency is 0',
      Paused: 'an order of an operator',
      ProviderNotStarted: 'the provider of its only pool is not started',
      ProviderUnserved: 'the driver of the provider is missing here, and no other launcher serves it',
      ProviderFails: 'launches in the provider fail, or its cloud refuses the credentials or does not answer',
      LabelUnavailable: 'the definition of the label does not match the cloud',
      ImageMissing: 'there is no image to launch from',
      Quota: 'one node needs more than the whole quota, or than others leave of it',
      NoNodes: 'a pool that launches nothing has no node of the label, for example because its hosts do not answer',
      Several: 'several pools, with different reasons',
    },
    nextStep: 'that of the cause; nodepool explain --label LABEL lists all pools',
  },
  LabelUnusable: {
    ...{ kind: 'label', severity: 'error' },
    meaning: 'the driver found that a label cannot work in one pool; the name is `PROVIDER/POOL/LABEL`',
    reasons: {
      FlavorMissing: 'the cloud has no such flavor',
      MachineTypeMissing: 'no zone has such a machine type',
      ImageMissing: 'the cloud has no such image',
      NetworkMissing: 'the cloud has no such network',
      ProfileMissing: 'the project has no such profile',
      StoragePoolMissing: 'the server has no such storage pool',
      SourceMissing: 'the instance or snapshot to copy does not exist',
      ServerGroupMissing: 'the cloud has no such server group',
      NetworkAmbiguous: 'several networks have the name',
      ServerGroupAmbiguous: 'several server groups have the name',
      KeyPairMissing: 'the user of the launcher has no such key pair',
      SecurityGroupMissing: 'the project has no such security group',
      SecurityGroupAmbiguous: 'several security groups have the name',
      UserDataTooLong: 'the cloud does not take user data of this size',
      LargerThanQuota: 'one node needs more than a quota or a limit range allows',
      BackingLabelRefused: 'all providers refused a request for the backing label',
      Misconfigured: 'another reason, in the message',
    },
    nextStep: 'correct the label in the configuration or the cloud; no restart is needed',
  },
  PodsNotStarting: {
    ...{ kind: 'label', severity: 'warning' },
    meaning:
      'pods of a label do not start in one pool, as last seen in the last ten minutes; the name is `PROVIDER/POOL/LABEL`',
    reasons: {
      Unschedulable: 'no node of the cluster can take them',
      Image: 'the image cannot be pulled',
      Container: 'the container does not start, or ends',
    },
    nextStep: 'correct what the message names',
  },
  RequestsForgotten: {
    ...{ kind: 'zookeeper', severity: 'warning' },
    meaning:
      'requests have been `fulfilled` for more than ten minutes and their requestor has not taken the nodes, which no other client gets',
    reasons: { NotTaken: 'the message names the requests and their requestors' },
    nextStep: 'check whether the requestor runs; if no client waits for a request: nodepool cancel REQUEST',
  },
  StandbyMissing: {
    ...{ kind: 'label', severity: 'warning' },
    meaning: 'there are fewer standby nodes than min-ready or standby asks for, and not enough are being made',
    reasons: { TooFew: 'the message has the numbers' },
    nextStep: 'nodepool explain --label LABEL',
  },
  NotStopped: {
    ...{ kind: 'label', severity: 'warning' },
    meaning: 'standby nodes of a label with `keep: stopped` are not stopped',
    reasons: {
      PoolUnaware:
        'a pool with the label does not know stopped nodes, as it is of the original or of an older release: its launcher would ' +
        'request more and more of them',
      FilesDiffer:
        'the launcher that decides, whose pool with the label was registered first, has no `keep: stopped` for it',
    },
    nextStep: 'stop or update the launcher of that pool, or give all launchers the same `standby`',
  },
  StandbyGoalMissed: {
    ...{ kind: 'label', severity: 'warning' },
    meaning:
      'standby nodes of a label with a `goal` served fewer requests at once during the last week than it says, as one launcher counted',
    reasons: { TooFew: 'the message has the numbers' },
    nextStep: 'nodepool advise -c FILE proposes what to write, from the recorded requests; or lower `goal`',
  },
  NoReadyBuild: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'an image has no ready build',
    reasons: { NeverBuilt: 'no build has completed', BuildFailed: 'the newest build failed' },
    nextStep: 'nodepool image-log IMAGE, nodepool image-build IMAGE --follow',
  },
  OldBuild: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest ready build is older than twice the rebuild-age',
    reasons: { NotRebuilt: 'no build has completed since', BuildFailed: 'the newest build failed' },
    nextStep: 'nodepool image-log IMAGE, nodepool image-build IMAGE --follow',
  },
  BuildFailed: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build failed; an earlier build that is not old stays in service',
    reasons: { Error: 'the message has the error and the script that ran' },
    nextStep: 'nodepool image-log IMAGE',
  },
  TestFailed: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build failed its test (`validate`) in a provider; the name is `IMAGE/PROVIDER`',
    reasons: { ImageFault: 'the message has the result of the test' },
    nextStep:
      'nodepool image-build IMAGE after correcting the cause; nodepool image-promote IMAGE tests this build again',
  },
  BuildBlocked: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'a build is due and cannot start',
    reasons: { NoSpace: 'the message has the missing amount', Error: 'another reason, in the message' },
    nextStep: 'with NoSpace: free space in the directory; no restart is needed',
  },
  UploadImpossible: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'a provider lacks the newest build, whose files are gone; the name is `IMAGE/PROVIDER`',
    reasons: {
      FileGone: '`delete-after-upload`, or manual deletion',
      BuilderGone:
        'the builder with the files has not been registered for five minutes; after an hour another one builds the image again',
    },
    nextStep: 'nodepool image-build IMAGE; with BuilderGone, or start that builder',
  },
  UploadsOfRemovedProvider: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'builds and their files are kept for uploads in a provider that left the configuration',
    reasons: { LeftConfiguration: 'its entry was removed before its images were deleted' },
    nextStep: 'restore its entry without diskimages until they are deleted; or nodepool erase PROVIDER',
  },
  IdNotHeld: {
    ...{ kind: 'builder', severity: 'error' },
    meaning: 'another builder may have the id of this builder, so it starts no work',
    reasons: {
      LockLost: 'the lock of its id was lost, and another builder may have it',
      BuildOfAnother: 'a builder that takes no such lock, such as that of the original, builds with its id',
    },
    nextStep: 'stop the other builder, or give it an images-dir of its own',
  },
  FilesOfAnotherDatabase: {
    ...{ kind: 'builder', severity: 'error' },
    meaning:
      'the database does not know builds in images-dir, which belong to another one; the builder starts no work and deletes nothing',
    reasons: { Unknown: 'the chroot is wrong, or the data of ZooKeeper was lost or replaced' },
    nextStep:
      'correct zookeeper-servers (chroot), or restore the data; for a new database: nodepool image-files adopt, or forget',
  },
  BuildWithdrawn: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build was withdrawn, everywhere or in the providers that the message names',
    reasons: { LaunchesFailed: 'all its launches failed, and those of the previous build did not' },
    nextStep: 'nodepool image-log IMAGE; then nodepool image-unpause IMAGE, or image-build if it is not paused',
  },
  LeaseCaUnusable: {
    ...{ kind: 'configuration', severity: 'error' },
    meaning: 'a launcher cannot sign SSH certificates, so that lessees cannot log in with the key that they gave',
    reasons: { NotSigned: 'the message says why: the file of `lease-ca-key`, or `ssh-keygen`, cannot be used' },
    nextStep: 'correct `lease-ca-key`, or its file',
  },
  HostUnusable: {
    ...{ kind: 'host', severity: 'error' },
    meaning: 'a static host cannot be registered or used; the name is `PROVIDER/USER@HOST:PORT`',
    reasons: {
      NoAnswer: 'its port does not answer',
      NameUnresolved: 'its name has no address',
      HostKeyMismatch: 'it does not have the configured host key',
      HostKeyTypeUnknown: 'it has no host key of a known type',
      SshMethodUnknown: 'its SSH server has no method of key exchange or encryption that the launcher knows',
      Refused: 'its SSH server refuses connections of the launcher for now',
      NotSsh: 'its port is not an SSH port',
    },
    nextStep: 'start the host, or correct its name, port or key; no restart is needed',
  },
  HostKeyChanged: {
    ...{ kind: 'host', severity: 'warning' },
    meaning:
      'a static host changed its host key within the last day, and the new key was accepted; ends early after a restart, or when `host-key` is set',
    reasons: { Accepted: '`host-key-checking` is not `pinned`' },
    nextStep: 'if the host was not reinstalled, find out which machine answers at its address',
  },
  UploadFails: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'an upload failed and is retried; the previous image stays in service; the name is `IMAGE/PROVIDER`',
    reasons: { Error: 'in the message' },
    nextStep: 'nodepool image-status',
  },
  RemovalFails: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'the removal of a build or an upload failed and is retried; the name is its path',
    reasons: { Error: 'in the message' },
    nextStep: 'correct the cause that the error names',
  },
  DeletionFails: {
    ...{ kind: 'node', severity: 'error' },
    meaning: 'the deletion of a node failed; retried with back-off until it succeeds',
    ...{ reasons: 'errors', nextStep: 'nodepool delete NODE, after correcting the cause, tries again at once' },
  },
  MachineUnusable: {
    ...{ kind: 'node', severity: 'warning' },
    meaning:
      'the machine of a node that is in use or held is gone, or cannot be used any more; the node is left to its user',
    reasons: { Lost: 'the message has what the cloud shows' },
    nextStep: 'wait until its user gives it back, or end the job or lease; for a held node: nodepool delete NODE',
  },
  DeletionTakesLong: {
    ...{ kind: 'node', severity: 'error' },
    meaning: 'a node has been `deleting` for more than 5 minutes',
    reasons: {
      StillInCloud: 'a launcher works on it, but the instance still exists',
      NobodyDeletes: 'no launcher works on it',
    },
    nextStep:
      'StillInCloud: check the instance with the tools of the cloud; the launcher continues once it is gone; NobodyDeletes: nodepool delete NODE --now',
  },
  OrderInForce: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'an order of an operator pauses, drains or limits a provider, pool, label or image',
    reasons: { Paused: '`pause`', Drained: '`drain`', Limited: '`limit`' },
    nextStep: 'nodepool KIND resume NAME; for the order of a running nodepool rollback: let it end, or interrupt it',
  },
} as const satisfies Readonly<Record<string, ConditionType>>;

/** One of {@link CONDITION_TYPES}. */
export type ConditionTypeName = keyof typeof CONDITION_TYPES;

/** Makes a condition of a known type. Kind and severity default to those of the table. */
export function newCondition(
  type: ConditionTypeName,
  details: Omit<FoundCondition, 'type' | 'kind' | 'severity' | 'evidence'> & Partial<FoundCondition>,
): FoundCondition {
  const { kind, severity } = CONDITION_TYPES[type];
  return { kind, severity, evidence: {}, ...details, type };
}
