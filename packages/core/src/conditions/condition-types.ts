import type { ConditionKind, ConditionSeverity, FoundCondition } from '../contract/condition.js';

/** What a type of condition means, for people who look it up. */
export interface ConditionType {
  readonly kind: ConditionKind;
  readonly severity: ConditionSeverity;
  /** When it is true, and so when it ends. */
  readonly meaning: string;
  /** Typical reasons and what each means; `errors`: the classes of errors. */
  readonly reasons: Readonly<Record<string, string>> | 'errors';
  /** What an operator can do. Conditions carry the step that fits their reason. */
  readonly nextStep: string;
}

/** All types that services, drivers of this repository and commands use. Other drivers may have types of their own. */
export const CONDITION_TYPES = {
  ConfigurationNotLoaded: {
    ...{ kind: 'configuration', severity: 'error' },
    meaning: 'a changed configuration is not valid, and the one before stays in force',
    reasons: { Invalid: 'the file has errors; the message has their places' },
    nextStep: 'nodepool config-validate; correct the file',
  },
  RestartNeeded: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning: 'the file has settings that take effect at the next start',
    reasons: { SettingChanged: 'the message names the settings' },
    nextStep: 'restart the service, or take the change back',
  },
  ConfigurationProblem: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning:
      'the file on the machine of the command has an error or a warning, or the configuration in force in a service has warnings',
    reasons: {
      Invalid: 'the message has the place, on the machine of the command',
      Warnings:
        'a service found them, such as an unknown key, which it ignores; the message has their number and the first place',
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
    reasons: { NotRegistered: 'none runs, or all use another ZooKeeper or chroot' },
    nextStep: 'start nodepool-launcher',
  },
  NoAnswer: {
    ...{ kind: 'launcher', severity: 'error' },
    meaning: 'a service is registered and its web server does not answer; its other conditions are `unknown`',
    reasons: { Unreachable: 'no connection, or no answer in time' },
    nextStep: 'look at the process and its log',
  },
  ClockSkew: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the clock of a service differs from that of the machine of the command by more than 5 s',
    reasons: { Clock: 'one of the two clocks is wrong' },
    nextStep: 'timedatectl set-ntp true, on the machine whose clock is wrong',
  },
  HistoryNotWritten: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'the history of requests and nodes cannot be written; what happens meanwhile is not kept',
    reasons: { NoSpace: 'the disk is full', NotWritable: 'the directory cannot be written' },
    nextStep: 'free space, or correct the permissions of the directory',
  },
  NoSpace: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning:
      'the disk of the state directory has little space, for the embedded ZooKeeper and the history; an error when it has none',
    reasons: { Scarce: 'less than 100 MiB', Full: 'less than 1 MiB' },
    nextStep: 'free space on the disk',
  },
  ConditionsLeftOut: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'a service has more conditions than its registry entry holds',
    reasons: { TooMany: 'the message has the number' },
    nextStep: 'remove the causes of those that are shown',
  },
  NotConnected: {
    ...{ kind: 'zookeeper', severity: 'error' },
    meaning: 'the service, or a command, has no connection to ZooKeeper',
    reasons: {
      Suspended: 'the connection broke',
      Lost: 'the session is over',
      NoServer: 'a command finds no server',
      CannotWrite: 'the embedded server cannot write to its disk, and says so to a command',
    },
    nextStep:
      'look at the ZooKeeper servers and the network; with the embedded server, at the launcher and the disk of its state directory',
  },
  SlowAnswers: {
    ...{ kind: 'zookeeper', severity: 'warning' },
    meaning: 'ZooKeeper takes more than 250 ms to answer a read',
    reasons: { Slow: 'its disk or its load' },
    nextStep: 'look at the disk and the load of the ZooKeeper servers',
  },
  NotStarted: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'a provider cannot be started; it is tried again with growing pauses',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  LaunchesFail: {
    ...{ kind: 'provider', severity: 'error' },
    meaning:
      'launches in a provider, or other calls to its cloud, fail in a row; requests go to other providers where there are any',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  LabelLaunchesFail: {
    ...{ kind: 'label', severity: 'warning' },
    meaning: 'launches of one label in one provider fail in a row for lack of capacity; the name is `PROVIDER/LABEL`',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  LoginRefused: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'the cloud refuses the credentials of a provider',
    reasons: {
      Unauthorized: 'the cloud does not know the user, the password or the key',
      NoAccessToken: 'the credentials cannot be read, or give no token',
    },
    nextStep: 'correct the credentials of the provider',
  },
  ZoneSilent: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'zones of a provider do not list their instances; nodes there are not deleted until they do, other zones serve',
    reasons: { ZoneFails: 'the message names the zones, with their errors' },
    nextStep: 'look at the status page of the cloud; remove the zones from the provider if it lasts',
  },
  SlowLaunches: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'launches take much longer than usual; providers of the same priority are asked first',
    reasons: { Slow: 'the cloud is slow' },
    nextStep: 'none: it ends by itself',
  },
  NotRegistered: {
    ...{ kind: 'provider', severity: 'error' },
    meaning: 'the configuration on the machine of the command has a provider that no launcher has registered',
    reasons: { NoPool: 'no launcher has it, or has not loaded the file' },
    nextStep: 'compare the configuration of the launchers, and look at their logs',
  },
  Draining: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'a provider left the configuration and still has nodes; the launcher deletes the free ones within about two minutes, each other when it is free',
    reasons: { LeftConfiguration: 'its entry was removed' },
    nextStep: 'end holds and jobs of its nodes, or wait; do not erase it and do not stop the launcher',
  },
  NodesWithoutProvider: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'ZooKeeper has nodes of a provider that no launcher has, so they are never deleted',
    reasons: { UnknownProvider: 'no launcher has the provider, and none drains it' },
    nextStep: 'put the entry of the provider back until its nodes are gone',
  },
  ResourcesLeaked: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'the cloud has resources of this database without a record; they are deleted, and an error when that fails',
    reasons: {
      NoRecord: 'they are deleted when they are seen again',
      DeletionFails: 'the cloud refuses to delete them',
    },
    nextStep: 'with DeletionFails: delete them with the tools of the cloud',
  },
  ResourcesWithoutProof: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'resources carry the name of the provider and are not proven to belong to this database; they are not deleted',
    reasons: { NoDatabaseId: 'they carry no id of a database' },
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
      ProviderFails: 'launches in the provider fail',
      LabelUnavailable: 'the definition of the label does not fit the cloud',
      ImageMissing: 'there is no image to launch from',
      Quota: 'one node needs more than the quota allows in all',
      NoNodes: 'a pool that launches nothing has no node of it, e.g. because its hosts do not answer',
      Several: 'several pools, each for another reason',
    },
    nextStep: 'that of the cause; nodepool explain --label LABEL has all pools',
  },
  LabelUnusable: {
    ...{ kind: 'label', severity: 'error' },
    meaning: 'the driver found that a label can never work in one pool as it is; the name is `PROVIDER/POOL/LABEL`',
    reasons: {
      FlavorMissing: 'the cloud has no such flavor',
      MachineTypeMissing: 'no zone has such a machine type',
      ImageMissing: 'the cloud has no such image',
      NetworkMissing: 'the cloud has no such network',
      ServerGroupMissing: 'the cloud has no such server group',
      NetworkAmbiguous: 'several networks have the name',
      ServerGroupAmbiguous: 'several server groups have the name',
      BackingLabelRefused: 'all providers refused a request for the backing label',
      Misconfigured: 'another reason; the message has it',
    },
    nextStep: 'correct the label in the configuration or the cloud; it is tried again without a restart',
  },
  StandbyMissing: {
    ...{ kind: 'label', severity: 'warning' },
    meaning: 'there are fewer standby nodes than min-ready, and not enough are being made',
    reasons: { TooFew: 'the message has the numbers' },
    nextStep: 'nodepool explain --label LABEL',
  },
  NoReadyBuild: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'an image has no ready build',
    reasons: { NeverBuilt: 'no build has ended', BuildFailed: 'the newest build failed' },
    nextStep: 'nodepool image-log IMAGE, nodepool image-build IMAGE --follow',
  },
  OldBuild: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest ready build is older than twice the rebuild-age',
    reasons: { NotRebuilt: 'no build has ended since', BuildFailed: 'the newest build failed' },
    nextStep: 'nodepool image-log IMAGE, nodepool image-build IMAGE --follow',
  },
  BuildFailed: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build failed; one that is not old stays in service',
    reasons: { Error: 'the message has the error and the script that ran' },
    nextStep: 'nodepool image-log IMAGE',
  },
  TestFailed: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build failed its test (`validate`) in a provider; the name is `IMAGE/PROVIDER`',
    reasons: { ImageFault: 'the message has what the test found' },
    nextStep:
      'nodepool image-build IMAGE after the cause is removed; nodepool image-promote IMAGE tests this build again',
  },
  BuildBlocked: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'a build is wanted and cannot begin',
    reasons: { NoSpace: 'the message has what is missing, and how much', Error: 'another reason; the message has it' },
    nextStep: 'with NoSpace: free space in the directory; it is tried again without a restart',
  },
  UploadImpossible: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'a provider lacks the newest build, whose files are gone; the name is `IMAGE/PROVIDER`',
    reasons: { FileGone: '`delete-after-upload`, or somebody deleted them' },
    nextStep: 'nodepool image-build IMAGE',
  },
  UploadsOfRemovedProvider: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'builds and their files are kept for uploads in a provider that left the configuration',
    reasons: { LeftConfiguration: 'its entry was removed before its images were deleted' },
    nextStep: 'put its entry back with no diskimages until they are deleted; or nodepool erase PROVIDER',
  },
  IdNotHeld: {
    ...{ kind: 'builder', severity: 'error' },
    meaning: 'another builder may have the id of a builder, so it begins nothing',
    reasons: {
      LockLost: 'the lock of its id was lost, and another builder may have it',
      BuildOfAnother: 'a builder that takes no such lock, such as one of the original, builds with its id',
    },
    nextStep: 'stop the other builder, or give it an images-dir of its own',
  },
  BuildWithdrawn: {
    ...{ kind: 'image', severity: 'warning' },
    meaning: 'the newest build was withdrawn, or is launched only where there is no other',
    reasons: { LaunchesFailed: 'its launches failed more often than those of the build before it' },
    nextStep: 'nodepool image-log IMAGE; then nodepool image-unpause IMAGE',
  },
  HostUnusable: {
    ...{ kind: 'host', severity: 'error' },
    meaning: 'a static host cannot be registered or taken; the name is `PROVIDER/USER@HOST:PORT`',
    reasons: {
      NoAnswer: 'its port does not answer',
      NameUnresolved: 'its name has no address',
      HostKeyMismatch: 'it does not have the configured host key',
      HostKeyTypeUnknown: 'it has no host key of a known type',
      NotSsh: 'something else than SSH answers on its port',
    },
    nextStep: 'start the host, or correct its name, port or key; it is checked again without a restart',
  },
  HostKeyChanged: {
    ...{ kind: 'host', severity: 'warning' },
    meaning:
      'a static host got another host key less than a day ago, which was accepted; it ends earlier with a restart, or when `host-key` is written',
    reasons: { Accepted: '`host-key-checking` is not `pinned`' },
    nextStep: 'if the host was not reinstalled, find out which machine answers at its address',
  },
  UploadFails: {
    ...{ kind: 'image', severity: 'warning' },
    meaning:
      'an upload has failed and is tried again; the image of before stays in service; the name is `IMAGE/PROVIDER`',
    reasons: { Error: 'the message has it' },
    nextStep: 'nodepool image-status',
  },
  RemovalFails: {
    ...{ kind: 'image', severity: 'error' },
    meaning: 'the removal of a build or an upload has failed and is tried again; the name is its path',
    reasons: { Error: 'the message has it' },
    nextStep: 'correct what the error names',
  },
  DeletionFails: {
    ...{ kind: 'node', severity: 'error' },
    meaning: 'the deletion of a node has failed; it is tried again with growing pauses, without end',
    ...{ reasons: 'errors', nextStep: 'nodepool delete NODE --now, after the cause is removed' },
  },
  DeletionTakesLong: {
    ...{ kind: 'node', severity: 'error' },
    meaning: 'a node has been `deleting` for more than 5 minutes',
    reasons: {
      StillInCloud: 'a launcher works on it, and the cloud does not end it',
      NobodyDeletes: 'no launcher works on it',
    },
    nextStep:
      'StillInCloud: look at the instance with the tools of the cloud, the launcher goes on by itself once it is gone; NobodyDeletes: nodepool delete NODE --now',
  },
  OrderInForce: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'an order of an operator pauses, drains or limits a provider, pool, label or image',
    reasons: { Paused: '`pause`', Drained: '`drain`', Limited: '`limit`' },
    nextStep: 'nodepool KIND resume NAME',
  },
} as const satisfies Readonly<Record<string, ConditionType>>;

/** One of {@link CONDITION_TYPES}. */
export type ConditionTypeName = keyof typeof CONDITION_TYPES;

/** A condition of a known type: kind and severity are those of the table unless the finder knows better. */
export function newCondition(
  type: ConditionTypeName,
  details: Omit<FoundCondition, 'type' | 'kind' | 'severity' | 'evidence'> & Partial<FoundCondition>,
): FoundCondition {
  const { kind, severity } = CONDITION_TYPES[type];
  return { kind, severity, evidence: {}, ...details, type };
}
