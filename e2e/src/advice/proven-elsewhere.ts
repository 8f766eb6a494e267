/** A test that brings conditions about, does what their advice says, and sees them end. */
export interface Proof {
  /** From the folder of the repository. */
  readonly file: string;
  /** Its name, or the part of it that the file has. */
  readonly test: string;
  /** Type and reason of each. */
  readonly of: readonly string[];
}

/** Names of tests, and the conditions that each ends, by file. */
const BY_FILE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'e2e/src/cases/conditions.slow.test.ts': {
    'every instrument reports a refused password until it is correct': ['LaunchesFail Unauthorized'],
    'every instrument reports a static host as down until it is up': ['HostUnusable NoAnswer', 'NotServed NoNodes'],
    'every instrument reports a node stuck in deleting until it is gone': ['DeletionTakesLong StillInCloud'],
    'every instrument reports a draining provider until its nodes are gone': ['Draining LeftConfiguration'],
  },
  'packages/builder/src/builder-conditions.test.ts': {
    'a builder reports a build that failed, until one succeeds': ['BuildFailed Error', 'NoReadyBuild BuildFailed'],
    'a builder reports a build that cannot begin, until its cause is corrected': ['BuildBlocked Error'],
    'a builder reports an upload whose file is gone, until the image is built again': ['UploadImpossible FileGone'],
    'a builder reports a removal that fails, until its cause is corrected': ['RemovalFails Error'],
    'a builder reports that another may have its id until it holds the id again': ['IdNotHeld LockLost'],
    'a builder reports uploads that wait for the disk of a builder that is gone': ['UploadImpossible BuilderGone'],
    'a builder reports that uploads of a removed provider keep files until the provider is back': [
      'UploadsOfRemovedProvider LeftConfiguration',
    ],
  },
  'packages/builder/src/context/foreign-builds.test.ts': {
    'a builder starts no work while another builds with its id, and reports it': ['IdNotHeld BuildOfAnother'],
  },
  'packages/builder/src/context/images-database.test.ts': {
    'the order to adopt records the builds, which are uploaded without another build': [
      'FilesOfAnotherDatabase Unknown',
    ],
  },
  'packages/builder/src/upload/upload-queue.test.ts': {
    'that the hook refuses leaves nothing in the cloud, and is tried again': ['UploadFails Error'],
  },
  'packages/builder/test/image-trials.test.ts': {
    'reaches at most five nodes if it is broken, which is a condition until it is unpaused; no request fails': [
      'BuildWithdrawn LaunchesFailed',
    ],
  },
  'packages/builder/test/limits.test.ts': {
    'does not start a build without enough disk space, until there is enough': ['BuildBlocked NoSpace'],
  },
  'packages/builder/test/without-zookeeper.test.ts': {
    'a builder reports that ZooKeeper is unavailable, at its start and later': [
      'NotConnected Lost',
      'NotConnected Suspended',
    ],
  },
  'packages/cli/src/commands/doctor.test.ts': {
    'says that its own file %s until it is corrected, and shows what services have published': [
      'ConfigurationProblem Invalid',
    ],
    'reports that no launcher runs, until one does': ['NoLauncher NotRegistered'],
    'asks registered services how late it is there, and doubts what silent ones have published, until all is well': [
      'ClockSkew Clock',
      'NoAnswer Unreachable',
    ],
    'names providers of the configuration that no launcher has registered, until one has': ['NotRegistered NoPool'],
    'reports that no server runs, also as JSON, until one does': ['NotConnected NoServer'],
    'names the disk of an embedded server that cannot write, as every command does, until it can': [
      'NotConnected CannotWrite',
    ],
    'nodepool doctor says that ZooKeeper answers slowly, until it does not': ['SlowAnswers Slow'],
    'warns of secrets that other users can read': ['SecretsReadable Mode'],
  },
  'packages/core/src/images/image-conditions.test.ts': {
    '%s ends with a new build that is ready, as after nodepool image-build': [
      'NoReadyBuild NeverBuilt',
      'OldBuild BuildFailed',
      'OldBuild NotRebuilt',
      'TestFailed ImageFault',
    ],
  },
  'packages/core/src/cloud/ownership/leak-finder.test.ts': {
    'is everything when the database was emptied or replaced under the service, until its data is restored': [
      'ResourcesLeaked DatabaseReplaced',
    ],
  },
  'packages/core/src/cloud/state-machine/provider.test.ts': {
    'puts a label that can never work on the list of error labels until it has been corrected': [
      'LabelUnusable Misconfigured',
    ],
  },
  'packages/core/src/features/stopped-spares/index.test.ts': {
    'are none while a pool with the label does not know them, with a condition; those that are stopped already stay': [
      'NotStopped PoolUnaware',
    ],
    'follow a launcher with %s that was registered before one that keeps them %s': ['NotStopped FilesDiffer'],
  },
  'packages/core/src/launcher/find-conditions.test.ts': {
    'lacks standby nodes once they have been missing for a minute': ['StandbyMissing TooFew'],
    'is out of service while its provider cannot be started: %o, until that is repaired': [
      'NotStarted Driver',
      'NotStarted NotFound',
      'NotStarted RateLimited',
    ],
    'a node of an instance that failed is looked at in the cloud, not at its image, until it can be deleted': [
      'DeletionFails InstanceFailed',
    ],
    'is out of service while its provider cannot be started, and in service once it can': [
      'NotServed ProviderNotStarted',
      'NotStarted Unauthorized',
    ],
  },
  'packages/core/src/features/steering/pace.test.ts': {
    'is well again with the first launch that takes its usual time': ['SlowLaunches Slow'],
  },
  'packages/core/src/launcher/launcher.test.ts': {
    'serves when ZooKeeper has lost its data, and says so for a day': ['DatabaseReplaced OtherDatabase'],
  },
  'packages/core/src/launcher/registry/gone-launchers.test.ts': {
    'tells no longer once it has returned': ['LauncherGone NotStopped'],
  },
  'packages/core/src/launcher/registry/missing-builder.test.ts': {
    'tells of a missing builder after five minutes, until one is started, be it of the original': [
      'NoBuilder NotRegistered',
    ],
  },
  'packages/core/src/logging/log-file.test.ts': {
    'is written again once space is available, including the lines logged meanwhile': ['LogNotWritten NoSpace'],
    'or at a place that cannot be written, is a failure until it can': ['LogNotWritten NotWritable'],
  },
  'packages/daemon/src/service-conditions.test.ts': {
    'tells that a container does not see the file that replaced the one it has by a bind mount, until it is restarted':
      ['ConfigurationNotLoaded Replaced'],
  },
  'packages/driver-gce/src/adapter.test.ts': {
    'report a machine type that no zone has, until one has it': ['LabelUnusable MachineTypeMissing'],
  },
  'packages/driver-gce/src/own-resources.test.ts': {
    'does not hide instances of other zones, and is logged once': ['ZoneSilent ZoneFails'],
  },
  'packages/driver-incus/src/adapter.test.ts': {
    'has a condition while the daemon does not trust it, until it does': ['LoginRefused Untrusted'],
    'is not ready for want of what the label names, until it is there: %s': [
      'LabelUnusable ProfileMissing',
      'LabelUnusable SourceMissing',
      'LabelUnusable StoragePoolMissing',
    ],
  },
  'packages/driver-kubernetes/src/adapter.test.ts': {
    'ends when the namespace is gone, and names the finalizers that hold it': ['DeletionsHang Finalizers'],
    'is replaced while it is idle before its token ends': ['TokensShortened Shortened'],
    'of a pod that is %s fails with %s and says why, until one starts': [
      'PodsNotStarting Container',
      'PodsNotStarting Image',
      'PodsNotStarting Unschedulable',
    ],
    'are not launched while a range of the namespace forbids their size': ['LabelUnusable LargerThanQuota'],
  },
  'packages/driver-kubernetes/src/credentials.test.ts': {
    'that a program prints and that %s are warned of once, and shown while it lasts': [
      'LoginEnds Expired',
      'LoginEnds Short',
    ],
  },
  'packages/driver-kubernetes/src/http.test.ts': {
    'remembers credentials that cannot be had until they can': ['LoginRefused NoAccessToken'],
  },
  'packages/driver-kubernetes/src/rights.test.ts': {
    'the warning ends when the verbs are allowed': ['RightsMissing Forbidden'],
  },
  'packages/driver-kubernetes/src/watcher.test.ts': {
    'says why changes do not arrive': ['WatchFails WatchFails'],
  },
  'packages/driver-metastatic/src/backing-request-outcomes.test.ts': {
    'that all providers refuse is a condition of the label, until a node arrives': [
      'LabelUnusable BackingLabelRefused',
    ],
  },
  'packages/driver-openstack/src/adapter.test.ts': {
    'is asked again after minutes, does not hold deletions back, and is a condition until then': [
      'CallsPaused TooManyCalls',
    ],
  },
  'packages/driver-static/src/host-monitor.test.ts': {
    'is registered with the new ones, the log warns of it, and a condition for a day': ['HostKeyChanged Accepted'],
    'is refused when they are pinned, until its new key is configured': ['HostUnusable HostKeyMismatch'],
  },
  'packages/driver-static/src/host-repair.test.ts': {
    'a host is reported as %s until its SSH server is repaired': [
      'HostUnusable HostKeyTypeUnknown',
      'HostUnusable NotSsh',
      'HostUnusable Refused',
      'HostUnusable SshMethodUnknown',
    ],
  },
  'packages/driver-static/src/provider.test.ts': {
    'has a condition and explains why its pool cannot serve the label, until the name has one': [
      'HostUnusable NameUnresolved',
    ],
  },
  'packages/history/src/history.test.ts': {
    'that find no space are a condition, until there is some': ['HistoryNotWritten NoSpace'],
    'that cannot be written are a condition, until the folder can be written': ['HistoryNotWritten NotWritable'],
  },
  'packages/launcher/src/certificates/lease-certificates.test.ts': {
    'is a condition until it can, and the lessee reads whom to ask': ['LeaseCaUnusable NotSigned'],
  },
  'packages/launcher/src/state/disk-space.test.ts': {
    'reports it until space is free again': ['NoSpace Full', 'NoSpace Scarce'],
  },
  'packages/launcher/src/web/api/lease-operations.test.ts': {
    'a token whose record comes from a program with access to ZooKeeper, but without the key, until it is revoked': [
      'TokensRefused NotSigned',
    ],
  },
  'packages/launcher/src/web/api/token-trust.test.ts': {
    'is nothing without a key, with the one command that makes it, until the token is made again with one': [
      'TokensRefused NoKey',
    ],
  },
};

/** Tests elsewhere that follow the advice of conditions. */
export const PROOFS: readonly Proof[] = Object.entries(BY_FILE).flatMap(([file, tests]) =>
  Object.entries(tests).map(([test, of]) => ({ file, test, of })),
);
