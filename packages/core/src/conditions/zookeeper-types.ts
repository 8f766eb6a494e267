import type { ConditionType } from './condition-type.js';

/** Types of conditions of ZooKeeper itself. */
export const ZOOKEEPER_TYPES = {
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
  UnreadableRecords: {
    ...{ kind: 'zookeeper', severity: 'error' },
    meaning:
      'records of nodes or requests cannot be read, so that they are left as they are; a static slot that such a node may stand for is not registered',
    reasons: { Malformed: 'the message names the records, and what is wrong with the first one' },
    nextStep: 'repair the records with a client of ZooKeeper, or delete them once no job uses their machines',
  },
  DatabaseReplaced: {
    ...{ kind: 'zookeeper', severity: 'error' },
    meaning: 'ZooKeeper serves another database than before: hosts in use are lent again; ends after a day',
    reasons: { OtherDatabase: 'it has another id, as after a loss' },
    nextStep:
      'restore a good copy; without one, pause static and metastatic providers, see "An empty database" in docs/maintenance.md',
  },
  SlowAnswers: {
    ...{ kind: 'zookeeper', severity: 'warning' },
    meaning: 'ZooKeeper takes more than 250 ms to answer a read',
    reasons: { Slow: 'its disk or its load' },
    nextStep: 'check the disk and the load of the ZooKeeper servers',
  },
} as const satisfies Readonly<Record<string, ConditionType>>;
