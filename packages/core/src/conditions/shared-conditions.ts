import { causeOf } from './error-reason.js';
import { newCondition, type ConditionTypes, type FoundCondition } from '../contract/condition.js';

/** Conditions that services and commands find. */
export const CONDITIONS = {
  ConfigurationProblem: {
    ...{ kind: 'configuration', severity: 'warning' },
    meaning:
      'the file on the machine of the command has an error or a warning, or the configuration in force in a service has warnings',
    reasons: {
      Invalid: 'the message names the position, on the machine of the command',
      Warnings:
        'a service found them, such as an unknown key, which it ignores; the message has their number and the first position',
    },
    nextStep: 'nodepool -c FILE config-validate; correct the file',
  },
  NotConnected: {
    ...{ kind: 'zookeeper', severity: 'error' },
    meaning: 'the service, or a command, has no connection to ZooKeeper',
    reasons: {
      Suspended: 'the connection broke',
      Lost: 'the session has expired',
      NoServer: 'a command finds no server',
      CannotWrite: 'the embedded server cannot write to its disk, as a command found',
    },
    nextStep:
      'check the ZooKeeper servers and the network; with the embedded server, check the launcher and the disk of its state directory',
  },
  NotStarted: {
    ...{ kind: 'provider', severity: 'error' },
    meaning:
      'a provider failed to start; a launcher retries with back-off, a builder after a change of the configuration',
    ...{ reasons: 'errors', nextStep: 'by reason' },
  },
  NoBuilder: {
    ...{ kind: 'builder', severity: 'warning' },
    meaning:
      'images are configured, and no builder is registered; a launcher waits five minutes unless an image awaits a build',
    reasons: { NotRegistered: 'no builder runs, or all use another ZooKeeper or chroot' },
    nextStep: 'start nodepool-builder',
  },
} as const satisfies ConditionTypes;

/** No builder is registered. @param sinceMs - ms since the epoch; default: now */
export function noBuilderCondition(sinceMs?: number): FoundCondition {
  return newCondition(CONDITIONS, 'NoBuilder', {
    ...{ name: 'any', reason: 'NotRegistered', ...(sinceMs !== undefined && { sinceMs }) },
    message: 'no builder is registered: images are not built, uploaded or deleted',
    nextStep:
      'start nodepool-builder; if one runs, compare its zookeeper-servers (and chroot) with those of the launcher',
  });
}

/** A provider could not be started. @param consequence - of that, for operators */
export function notStartedCondition(name: string, error: Error, consequence: string): FoundCondition {
  const message = `it could not be started: ${error.message}; ${consequence}`;
  return newCondition(CONDITIONS, 'NotStarted', { name, message, ...causeOf(error, name) });
}
