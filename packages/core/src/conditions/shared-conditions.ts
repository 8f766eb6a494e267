import type { ConditionTypes } from '../contract/condition.js';

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
    nextStep: 'nodepool config-validate; correct the file',
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
} as const satisfies ConditionTypes;
