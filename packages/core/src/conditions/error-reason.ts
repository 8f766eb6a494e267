import { isNodepoolError } from '@nodepool/zk-protocol';
import { isRateLimited } from '../contract/errors.js';

/** Reasons of conditions that an error caused, what each means, and what helps; `PROVIDER` stands for the provider's name. */
export const ERROR_REASONS = {
  Unauthorized: {
    meaning: 'the cloud refuses the credentials',
    nextStep:
      'correct the credentials of provider PROVIDER (for OpenStack in clouds.yaml); they are read again without a restart',
  },
  Forbidden: {
    meaning: 'the credentials are valid but lack a permission',
    nextStep: 'give the user of provider PROVIDER the permission that the message names',
  },
  NotFound: {
    meaning: 'an object in the cloud that the configuration names does not exist',
    nextStep: 'correct its name in the configuration of provider PROVIDER, or create it in the cloud',
  },
  Quota: {
    meaning: 'the quota of the project is used up',
    nextStep: 'raise the quota of the project, or free some of it',
  },
  NoCapacity: { meaning: 'the cloud has no capacity for the type at the moment', nextStep: '' },
  NoAddress: {
    meaning: 'a network of the cloud has no free address',
    nextStep: 'free addresses of the network of provider PROVIDER (ports that nothing uses), or enlarge it',
  },
  RateLimited: {
    meaning: 'the cloud refuses calls because there are too many',
    nextStep: 'lower the rate of provider PROVIDER',
  },
  Timeout: {
    meaning: 'the cloud or the instance took longer than its time limit',
    nextStep: 'look at the cloud of provider PROVIDER',
  },
  Unreachable: {
    meaning: 'no connection to the API of the cloud',
    nextStep: 'check the endpoint, the network and the state of the cloud of provider PROVIDER',
  },
  Unavailable: {
    meaning: 'the API of the cloud answers with an error of its own',
    nextStep: 'look at the cloud of provider PROVIDER',
  },
  Configuration: {
    meaning: 'the configuration does not fit the cloud',
    nextStep: 'correct the configuration of provider PROVIDER; saving the file puts it in force',
  },
  Driver: {
    meaning: 'the driver is not installed, or makes errors of its own',
    nextStep: 'nodepool drivers; the log of the service has the details',
  },
  InstanceFailed: {
    meaning: 'instances are created and do not become usable',
    nextStep: 'look at the image, the flavor and the network of the label in provider PROVIDER',
  },
  Error: { meaning: 'another error; the message has it', nextStep: 'the log of the service has the details' },
} as const;

/** Class of an error, as the reason of a condition; docs/conditions.md explains each. */
export type ErrorReason = keyof typeof ERROR_REASONS;

/** First match wins, from the most specific to the least. */
const CLASSES: readonly (readonly [(error: Error) => boolean, ErrorReason])[] = [
  [isRateLimited, 'RateLimited'],
  [hasCode('NODEPOOL_QUOTA'), 'Quota'],
  [hasStatus(401), 'Unauthorized'],
  [hasStatus(403), 'Forbidden'],
  [hasStatus(404), 'NotFound'],
  [hasCode('NODEPOOL_NOT_FOUND'), 'NotFound'],
  [lacksAddress, 'NoAddress'],
  [hasCode('NODEPOOL_CONFIG'), 'Configuration'],
  [hasCode('NODEPOOL_CAPACITY'), 'NoCapacity'],
  [hasCode('NODEPOOL_DRIVER'), 'Driver'],
  [hasCode('NODEPOOL_TIMEOUT', 'NODEPOOL_CREATE_TIMEOUT', 'NODEPOOL_DELETE_TIMEOUT'), 'Timeout'],
  [hasCode('NODEPOOL_LAUNCH_STATUS', 'NODEPOOL_ADDRESS'), 'InstanceFailed'],
  [hasCode('NODEPOOL_NETWORK', 'NODEPOOL_KEYSCAN', 'NODEPOOL_SSH'), 'InstanceFailed'],
  [hasNoConnection, 'Unreachable'],
  [hasCode('NODEPOOL_PROVIDER_UNAVAILABLE'), 'Unavailable'],
];

/** The class of an error: by our own code, the HTTP status of an answer of the cloud, or the code of the system. */
export function reasonOfError(error: unknown): ErrorReason {
  const chain = causesOf(error);
  return CLASSES.find(([matches]) => chain.some(matches))?.[1] ?? 'Error';
}

/** Capacity that never was there may be asked for wrongly. */
const NEVER_READY =
  'look at the flavor, the image and the zone of the label in provider PROVIDER: no launch of it has been ready since the launcher started';

/**
 * What helps against errors of a class in a provider; empty: waiting.
 * @param neverReady - they are those of a label of which no launch has been ready
 */
export function adviceFor(reason: ErrorReason, provider: string, neverReady = false): string {
  const { nextStep } = ERROR_REASONS[reason];
  return (nextStep === '' && neverReady ? NEVER_READY : nextStep).replace('PROVIDER', `"${provider}"`);
}

/** Reason and next step of a condition that an error of a provider caused; an error may know both better than its class. */
export function causeOf(error: Error, provider: string): { readonly reason: string; readonly nextStep: string } {
  const reason = reasonOfError(error);
  return {
    reason: detail(error, 'reason') ?? reason,
    nextStep: detail(error, 'nextStep') ?? adviceFor(reason, provider),
  };
}

function detail(error: Error, key: 'reason' | 'nextStep'): string | undefined {
  const value: unknown = Reflect.get(error, key);
  return isNodepoolError(error, 'NODEPOOL_CONFIG') && typeof value === 'string' ? value : undefined;
}

const MOST_CAUSES = 8;

function causesOf(error: unknown): Error[] {
  const found: Error[] = [];
  for (let each = error; each instanceof Error && found.length < MOST_CAUSES; each = each.cause) found.push(each);
  return found;
}

function hasCode(...codes: readonly string[]): (error: Error) => boolean {
  return (error) => codes.some((code) => isNodepoolError(error, code));
}

function hasStatus(status: number): (error: Error) => boolean {
  return (error) => 'status' in error && error.status === status;
}

/** In the words of Neutron and Nova. */
const NO_ADDRESS = /ip ?address|free ips/i;

function lacksAddress(error: Error): boolean {
  return isNodepoolError(error, 'NODEPOOL_CAPACITY') && NO_ADDRESS.test(error.message);
}

const NO_CONNECTION =
  /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|NOTFOUND|AI_)|UND_ERR|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

function hasNoConnection(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && NO_CONNECTION.test(error.code);
}
