/** A test that brings a condition about, does what its advice says, and sees the condition end. */
export interface Proof {
  /** From the folder of the repository. */
  readonly file: string;
  /** Its name, or the part of it that the file has. */
  readonly test: string;
}

const INSTRUMENTS = 'e2e/src/cases/conditions.slow.test.ts';

/** Conditions whose advice another test follows, by type and reason. */
export const PROVEN_ELSEWHERE: Readonly<Record<string, Proof>> = {
  'LaunchesFail Unauthorized': {
    file: INSTRUMENTS,
    test: 'every instrument reports a refused password until it is correct',
  },
  'NoBuilder NotRegistered': {
    file: 'packages/core/src/launcher/registry/missing-builder.test.ts',
    test: 'tells of a missing builder after five minutes, until one is started, be it of the original',
  },
  'HostUnusable NoAnswer': { file: INSTRUMENTS, test: 'every instrument reports a static host as down until it is up' },
  'NotServed NoNodes': { file: INSTRUMENTS, test: 'every instrument reports a static host as down until it is up' },
  'DeletionTakesLong StillInCloud': {
    file: INSTRUMENTS,
    test: 'every instrument reports a node stuck in deleting until it is gone',
  },
  'Draining LeftConfiguration': {
    file: INSTRUMENTS,
    test: 'every instrument reports a draining provider until its nodes are gone',
  },
  'HostUnusable HostKeyMismatch': {
    file: 'packages/driver-static/src/host-monitor.test.ts',
    test: 'is refused when they are pinned, until its new key is configured',
  },
  'DatabaseReplaced OtherDatabase': {
    file: 'packages/core/src/launcher/launcher.test.ts',
    test: 'serves when ZooKeeper has lost its data, and says so for a day',
  },
  'LauncherGone NotStopped': {
    file: 'packages/core/src/launcher/registry/gone-launchers.test.ts',
    test: 'tells no longer once it has returned',
  },
  'LeaseCaUnusable NotSigned': {
    file: 'packages/launcher/src/certificates/lease-certificates.test.ts',
    test: 'is a condition until it can, and the lessee reads whom to ask',
  },
  'NotStarted Unauthorized': {
    file: 'packages/core/src/launcher/find-conditions.test.ts',
    test: 'is out of service while its provider cannot be started, and in service once it can',
  },
  'NotServed ProviderNotStarted': {
    file: 'packages/core/src/launcher/find-conditions.test.ts',
    test: 'is out of service while its provider cannot be started, and in service once it can',
  },
  'SecretsReadable Mode': {
    file: 'packages/cli/src/commands/doctor.test.ts',
    test: 'warns of secrets that other users can read',
  },
  'CallsPaused TooManyCalls': {
    file: 'packages/driver-openstack/src/adapter.test.ts',
    test: 'is asked again after minutes, does not hold deletions back, and is a condition until then',
  },
  'LabelUnusable MachineTypeMissing': {
    file: 'packages/driver-gce/src/adapter.test.ts',
    test: 'report a machine type that no zone has, until one has it',
  },
  'IdNotHeld LockLost': {
    file: 'packages/builder/src/builder-conditions.test.ts',
    test: 'a builder reports that another may have its id until it holds the id again',
  },
  'UploadImpossible BuilderGone': {
    file: 'packages/builder/src/builder-conditions.test.ts',
    test: 'a builder reports uploads that wait for the disk of a builder that is gone',
  },
  'UploadsOfRemovedProvider LeftConfiguration': {
    file: 'packages/builder/src/builder-conditions.test.ts',
    test: 'a builder reports that uploads of a removed provider keep files until the provider is back',
  },
};
