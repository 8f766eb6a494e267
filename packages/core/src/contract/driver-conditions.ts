import type { ConditionTypes } from './condition.js';

/** Conditions that several drivers find. */
export const CONDITIONS = {
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
} as const satisfies ConditionTypes;
