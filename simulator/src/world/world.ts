import { ConfigError, type Config, type Driver, type LogFields } from '@nodepool/core';
import type { PastLine } from '@nodepool/history';
import { isZooKeeperError, requestPath, type Clock, type RequestId, type ZooKeeper } from '@nodepool/zk-protocol';
import {
  Environment,
  InvariantChecker,
  Random,
  VirtualClock,
  type NodeEntry,
  type WakeOrder,
} from '@nodepool/core/testing';
import type { FaultName } from './faults.js';
import { MemoryServer, type DatabaseCopy, type TransactionListener } from '@nodepool/zk-protocol/memory';
import { Violation } from './violation.js';
import { describeChange } from './describe-change.js';
import { StoredRecords } from './stored-records.js';
import { LeaderClock } from './leader-clock.js';
import type { Limit } from './limit.js';
import { LaunchTally } from './launch-tally.js';
import { LeaseChecks } from './lease-checks.js';
import { Trace } from './trace.js';

/** A fixed start date, so that traces of one seed are identical. */
const BEGIN_MS = 1_800_000_000_000;
/** Errors caused by responses of a cloud. */
const CLOUD_ERRORS = new Set([
  'ProviderUnavailableError',
  'RateLimitedError',
  'QuotaError',
  'CapacityError',
  'LaunchError',
]);
/** Messages about responses of a cloud that carry no error. */
const CLOUD_MESSAGES = new Set([
  'The cloud does not show its instances; no new ones are made until it does',
  'Provider does not start; continuing without it for now',
]);
/** Name of a program whose records only it can read. */
export const NEWER_RELEASE = 'newer';
/** What fails in a run. */
export type Faults = 'all' | 'launchers';

const WAKE_ORDERS = ['as-due', 'timers-first', 'sockets-first'] as const;
/** Upper bound of steps; more indicate an endless loop. */
const STEP_LIMIT = 200_000;

/** Shared state of the actors of one run. */
export class World {
  readonly clock = new VirtualClock(BEGIN_MS);
  readonly random: Random;
  /** The order in which listeners are called; of its own, so that a seed stays the same however often launchers start. */
  readonly listeners: Random;
  readonly trace: Trace;
  readonly checker: InvariantChecker;
  readonly stored = new StoredRecords();
  readonly leases: LeaseChecks;
  /** Instances of each node; `undefined` where clouds fail too. */
  readonly launches: LaunchTally | undefined;
  readonly leaderClock = new LeaderClock(this.clock);
  readonly server: MemoryServer;
  readonly drivers = new Map<string, Driver>();
  /** What launchers have read, by the text of the file. */
  readonly configs = new Map<string, Promise<Config>>();
  /** By provider; `max-concurrency` of its entry. */
  readonly maxConcurrency = new Map<string, Limit>();
  readonly latencyMs: number;
  readonly violations: Violation[] = [];
  readonly #environment: Environment;
  readonly #onTransaction: TransactionListener = (transaction, sessionId) => {
    const { changes, zxid } = transaction;
    const who = this.checker.nameOf(sessionId);
    const isForeign = who === NEWER_RELEASE; // the checks cannot read its records either
    const describe = (change: (typeof changes)[number]) =>
      isForeign ? `${change.change} ${'path' in change ? change.path : ''}` : describeChange(change);
    if (changes.length > 0) this.trace.add(who, () => `zk ${zxid}: ${changes.map(describe).join('; ')}`);
    const isLate = this.processes.some(({ isDead, zk }) => isDead && zk.sessionId === sessionId);
    for (const change of isLate ? changes : []) if (change.change === 'create') this.lateRecords.add(change.path);
    this.stored.onTransaction(transaction, sessionId);
    if (isForeign) return;
    this.checker.onTransaction(transaction, sessionId);
    this.leases.onTransaction(transaction, sessionId);
    this.leaderClock.told(who, transaction);
    if (changes.length > 0) this.onWrite?.(who);
  };
  readonly #onRejection = (error: unknown): void => {
    this.violate(new Violation(`unhandled rejection: ${stackOf(error)}`));
  };
  readonly #onException = (error: unknown): void => {
    this.violate(new Violation(`uncaught exception: ${stackOf(error)}`));
  };
  /** Number of launchers. */
  launcherCount = 0;
  /** A feature that launchers do not have. */
  without: string | undefined;
  /** Faults that the run has. */
  drawn: ReadonlySet<FaultName> = new Set();
  steps = 0;
  /** Ids of records of which a process has logged that it cannot read them. */
  readonly reported = new Set<string>();
  /** Records that a broken tool has written, by path, with what they were before. */
  readonly spoiled = new Map<string, { readonly before: Buffer; readonly after: string }>();
  /** Processes by name and life. */
  readonly processes: { readonly isDead: boolean; readonly zk: Pick<ZooKeeper, 'sessionId'> }[] = [];
  /** Records, by path, that the last packets of a process made after its death: none of its successors could count them. */
  readonly lateRecords = new Set<string>();
  /** How often another database was served. */
  replacements = 0;
  /** When launchers run above the last one that was asked for. */
  replaced: Promise<void> = Promise.resolve();
  /** Whether the checks read the content of another database. */
  isReplacing = false;
  /** Called when another database is served. */
  readonly onReplaced: (() => void)[] = [];
  /** Machines that were made or deleted when another database was served: a call about them may be on its way. */
  readonly goingMachines = new Set<unknown>();
  /** Whether what is free in that database may have users: launchers ran below it. */
  mayLendAgain = false;
  /** Called with lines that launchers write to their histories. */
  onHistory: ((lines: readonly PastLine[]) => void) | undefined;

  /** Called after each transaction with the name of its process. */
  onWrite: ((who: string) => void) | undefined;
  /** Called before a call of a cloud takes effect with the clock of its process, and the node for which it orders an instance. */
  onCloudCall: ((clock: Clock, orderedFor: string | undefined) => void) | undefined;

  /**
   * @param stepLimit - more steps count as an endless loop
   * @param faults - what fails: everything, or launchers and their connections only
   */
  constructor(
    seed: number,
    trace: boolean,
    private readonly stepLimit = STEP_LIMIT,
    readonly faults: Faults = 'all',
  ) {
    this.random = new Random(seed);
    this.listeners = new Random(seed);
    this.#environment = new Environment(this.random.fork(), trace);
    this.trace = new Trace(this.clock, trace);
    const report = (violation: string) => {
      if (!this.isReplacing) this.violate(new Violation(violation));
    };
    this.checker = new InvariantChecker(report);
    this.leases = new LeaseChecks(this.clock, this.checker, report);
    this.leaderClock.onViolation = report;
    this.leaderClock.onLost = () => this.leases.timeIsLost();
    if (faults === 'launchers') this.launches = new LaunchTally(this.checker, report);
    const order = this.random.fork();
    this.server = new MemoryServer(this.leaderClock, this.#onTransaction, { arrange: (names) => order.shuffle(names) });
    this.latencyMs = this.random.pick([0.3, 1, 5, 30]);
    process.on('unhandledRejection', this.#onRejection);
    process.on('uncaughtException', this.#onException);
  }

  /** Milliseconds since the beginning. */
  get elapsedMs(): number {
    return this.clock.now() - BEGIN_MS;
  }

  /** Holds callbacks of `setImmediate` of all processes back. @returns lets them run */
  get holdImmediates(): () => () => void {
    return this.#environment.holdImmediates;
  }

  /**
   * Serves another database: an older copy, or an empty one. The checks go on with its content, and judge nothing of the change.
   * @param mayLendAgain - nodes that are free in it and may have users are not deleted first
   */
  replaceDatabase(copy: DatabaseCopy | undefined, mayLendAgain: boolean): void {
    this.replacements++;
    this.mayLendAgain = mayLendAgain;
    const isUsable = ({ state }: NodeEntry) => ['ready', 'in-use', 'hold'].includes(state);
    for (const node of this.checker.nodes.values())
      if (!isUsable(node)) this.goingMachines.add(node.body['external_id']);
    const { locks, components, requests } = this.checker;
    const ephemeral = [
      ...locks.keys(),
      ...components.keys(),
      ...[...requests.keys()].map((id) => requestPath(id as RequestId)),
    ];
    const before = this.server.copy().znodes.map(([path]) => path);
    this.server.replace(copy);
    if (this.leaderClock.databaseReplaced()) this.server.changeLeader();
    this.isReplacing = true;
    this.checker.databaseId = undefined;
    const gone = [...new Set([...ephemeral, ...before])].reverse();
    this.#notify({ zxid: 0, timeMs: 0, changes: gone.map((path) => ({ change: 'delete', path })) });
    const changes = (copy?.znodes ?? []).map(
      ([path, { data, acl, owner }]) => ({ change: 'create', path, data, acl, owner }) as const,
    );
    this.#notify({ zxid: copy?.zxid ?? 0, timeMs: 0, changes });
    for (const [path, { mzxid }] of copy?.znodes ?? []) this.stored.restored(path, mzxid);
    this.leases.databaseReplaced();
    this.isReplacing = false;
    for (const listener of this.onReplaced) listener();
  }

  #notify(transaction: Parameters<TransactionListener>[0]): void {
    for (const { onTransaction } of [this.stored, this.checker, this.leases]) onTransaction(transaction, 0n);
  }

  /** Whether a program continues after an error: its connection broke, or another database is served. */
  goesOnAfter(error: unknown): boolean {
    const isOfConnection = isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED');
    return isOfConnection || (this.replacements > 0 && isZooKeeperError(error));
  }

  /** What a process does first that has stood still. */
  wakeOrder(): WakeOrder {
    return this.drawn.has('wake-order') ? this.random.pick(WAKE_ORDERS) : 'as-due';
  }

  violate(violation: Violation): void {
    this.trace.add('VIOLATION', violation.message);
    this.violations.push(violation);
  }

  /** Any error that a process logs is a violation, unless a response of a cloud caused it. */
  errorLogged(who: string, message: string, fields: LogFields | undefined): void {
    if (fields?.error instanceof Error ? CLOUD_ERRORS.has(fields.error.name) : CLOUD_MESSAGES.has(message)) return;
    if (this.drawn.has('unreadable') && message === 'Ignored a malformed record') {
      this.reported.add(String(fields?.['id']));
      return;
    }
    if (this.drawn.has('broken-files') && fields?.error instanceof ConfigError) return;
    if (this.drawn.has('lost-database') && message.startsWith(OTHER_DATABASE)) return;
    const detail = fields?.error === undefined ? '' : `: ${stackOf(fields.error)}`;
    this.violate(new Violation(`${who} logs an error: ${message}${detail}`));
  }

  /** Advances the clock. Stops early at the first violation. */
  async run(ms: number, until: () => boolean = () => false): Promise<void> {
    const endMs = this.clock.now() + ms;
    await this.#environment.settle();
    while (this.violations.length === 0 && !until() && this.clock.step(endMs)) {
      this.steps++;
      if (this.steps === this.stepLimit) this.violate(new Violation(`busy: ${this.stepLimit} steps and no rest`));
      await this.#environment.settle();
    }
  }

  /** Calls `act` repeatedly at random times until it returns false. */
  repeat(meanMs: number, act: () => boolean): void {
    this.clock.setTimer(this.random.exponential(meanMs), () => {
      if (act()) this.repeat(meanMs, act);
    });
  }

  restore(): void {
    process.off('unhandledRejection', this.#onRejection);
    process.off('uncaughtException', this.#onException);
    this.#environment.restore();
  }
}

/** Machines that were made before the loss. */
const OTHER_DATABASE = 'A resource in use here carries the id of another database';

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
