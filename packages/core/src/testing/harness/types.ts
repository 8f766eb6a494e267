import type { Clock, NodeId, NodeRecord, Resources } from '@nodepool/zk-protocol';
import type { Driver } from '../../contract/driver.js';

/**
 * Failure of an upcoming call to a cloud.
 * - `quota` the next creation is refused because the project's quota is exhausted
 * - `capacity` the next creation is refused because the cloud has no capacity at the moment
 * - `unavailable` the next call of any kind is not answered and has no effect
 * - `error-state` the next creation is accepted, but the resource fails
 * - `never-ready` the next creation is accepted, but the resource never becomes ready
 * - `lost-reply` the next creation takes effect, but its answer never arrives
 * - `late-listing` like `lost-reply`, and lists show the resource after the maximum delay, `listLagMs` of the adapter
 */
export type CloudFailureKind =
  'quota' | 'capacity' | 'unavailable' | 'error-state' | 'never-ready' | 'lost-reply' | 'late-listing';

/** How a machine ends by itself or by another program: it is there and does not run, or it is gone. */
export type MachineEnd = 'stopped' | 'deleted';

/** A resource in a cloud, regardless of its origin. */
export interface CloudResource {
  /** Id in the cloud; for an instance, the external id stored by the driver. */
  readonly id: string;
  /** E.g. `volume`. Default: `instance`. */
  readonly type?: string | undefined;
  /** Whether the resource is usable: complete, not failed, and not being deleted. */
  readonly isReady: boolean;
  /**
   * Lifetime of the resource.
   * - `node` until deletion of the node's resources completes, before its record is removed (default)
   * - `record` as long as the node's record, because it is part of another resource, e.g. a slot of a machine
   * - `shared` longer than each node on it, but limited, e.g. a machine with slots
   */
  readonly lifetime?: 'node' | 'record' | 'shared' | undefined;
  /** Connection details that the driver must store in the node record. Default: not checked. */
  readonly login?: CloudLogin | undefined;
}

/** Fields of a node record that the instance determines rather than its image. Missing fields are not checked. */
export type CloudLogin = Partial<
  Pick<NodeRecord, 'username' | 'pythonPath' | 'shellType' | 'connectionPort' | 'connectionType' | 'hostKeys'>
>;

/** The driver author's fake cloud. The kit creates one for each test. */
export interface ContractCloud {
  /** Clock of the driver and all launchers, usually a `VirtualClock`. */
  readonly clock: Clock;
  /** Advances time and runs everything that becomes due. `0` runs only what is due now. */
  advance(ms: number): Promise<void>;
  /**
   * Lists all resources, including failed ones and those being deleted.
   * @param nodes - all node records; useful only for drivers whose nodes are parts of other nodes
   */
  list(nodes: ReadonlyMap<NodeId, NodeRecord>): readonly CloudResource[] | Promise<readonly CloudResource[]>;
  /** Arranges a failure. Several calls queue up, including calls for the same kind. */
  failNext(kind: CloudFailureKind): void;
  /** Failures that this cloud cannot have, e.g. `quota` without quotas. Default: none. */
  readonly impossible?: readonly CloudFailureKind[] | undefined;
  /**
   * Ends the machine of a ready instance, as a failure, a preemption or another program does. Required of clouds whose driver launches.
   * @param id - as {@link list} has it
   * @returns `false`: a machine of this cloud never ends like that
   */
  endMachine?(id: string, how: MachineEnd): boolean | Promise<boolean>;
  /**
   * Failures that affect another provider: a driver that builds on it sees a delay or a failure, but not the cause.
   * The kit does not check how such a launch ends, only that requests are eventually served. Default: none.
   */
  readonly unseen?: readonly CloudFailureKind[] | undefined;
  /**
   * Quota of the empty cloud by the names that the driver uses, e.g. `{ instances: 20 }`. The kit ignores other names.
   * `{}` means that the cloud does not publish its limits. Required unless `quota` is impossible or unseen.
   */
  readonly limits?: Resources | undefined;
  /** Maximum number of entries in one page of a list. Keep it small: the kit creates one instance more. Default: no pages. */
  readonly pageSize?: number | undefined;
  /** Stops the cloud after the test. */
  stop?(): void | Promise<void>;
}

/** Part of a configuration file that can be expressed in JSON. */
export type Entry = Readonly<Record<string, unknown>>;

/** Options of the contract, provided by the driver's author. */
export interface DriverContractOptions<Cloud extends ContractCloud = ContractCloud> {
  readonly driver: Driver;
  /**
   * Creates a new, empty cloud for each test; tests run one after another. From then on the driver must use this cloud:
   * through an address in its configuration, or because the author's test sets it.
   */
  cloud(): Cloud | Promise<Cloud>;
  /**
   * A complete provider entry with at least one pool and one label. Instances must be reachable without a network: use
   * addresses that contain `fake`, or disable the key scan.
   */
  readonly validConfig: Entry | ((cloud: Cloud) => Entry);
  /** Invalid entries by their error, e.g. `a label without a size`. */
  readonly invalidConfigs: Readonly<Record<string, Entry>>;
  /** The package's `package.json`. Default: not checked. */
  readonly packageFile?: string | URL | undefined;
  /** Other top-level keys of the file, e.g. `diskimages`, and further `providers` that this provider builds on. */
  readonly file?: Entry | undefined;
  /** Runs only this part, e.g. `errors`, during development. Default: all parts. */
  readonly part?: string | undefined;
  /** Drivers of the further providers in `file`. */
  readonly otherDrivers?: readonly Driver[] | undefined;
}

/** One check of the contract. */
export interface ContractTest {
  /** Name of the part, e.g. `errors`. */
  readonly part: string;
  /** Predicate of a sentence whose subject is the driver: `ends a launch that is aborted`. */
  readonly name: string;
  /** Rejects if the driver breaks the rule. */
  readonly run: () => Promise<void>;
}

/** Functions common to all test runners. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}
