import type { Clock, NodeId, NodeRecord, Resources } from '@nodepool/zk-protocol';
import type { Driver } from '../../contract/driver.js';

/**
 * What the next call to a cloud can meet with.
 * - `quota` the next creation is refused: the project's quota is used up
 * - `capacity` the next creation is refused: the cloud has no capacity just now
 * - `unavailable` the next call of any kind is not answered, and has no effect
 * - `error-state` the next creation is accepted, and what it makes breaks
 * - `never-ready` the next creation is accepted, and what it makes never becomes ready
 * - `lost-reply` the next creation takes effect, and its answer never arrives
 * - `late-listing` as `lost-reply`, and lists show what was made as late as they ever do; see `listLagMs` of the adapter
 */
export type CloudFailureKind =
  'quota' | 'capacity' | 'unavailable' | 'error-state' | 'never-ready' | 'lost-reply' | 'late-listing';

/** A resource in a cloud, of any origin. */
export interface CloudResource {
  /** The cloud's own id; for an instance what the driver stores as external id. */
  readonly id: string;
  /** E.g. `volume`. Default: `instance`. */
  readonly type?: string | undefined;
  /** It can be used: it is complete, not broken, and not being deleted. */
  readonly isReady: boolean;
  /**
   * How long it stays.
   * - `node` until a deletion of what is behind the node has ended, which is before the record goes (default)
   * - `record` as long as the node's record: it is nothing but a part of something else, e.g. a slot of a machine
   * - `shared` longer than each node on it, but not indefinitely, e.g. a machine with slots
   */
  readonly lifetime?: 'node' | 'record' | 'shared' | undefined;
  /** How to reach it, as the driver is to tell: the record of its node must say the same. Default: not looked at. */
  readonly login?: CloudLogin | undefined;
}

/** Fields of a node record that an instance knows better than its image. What is missing is not looked at. */
export type CloudLogin = Partial<
  Pick<NodeRecord, 'username' | 'pythonPath' | 'shellType' | 'connectionPort' | 'connectionType' | 'hostKeys'>
>;

/** A driver author's fake cloud, as the kit sees it. Each test gets a new one. */
export interface ContractCloud {
  /** Everything runs on this clock; usually a `VirtualClock`. */
  readonly clock: Clock;
  /** Lets so many milliseconds pass, and everything happen that happens in them. `0`: what is due now. */
  advance(ms: number): Promise<void>;
  /**
   * All that exists, also what is broken or being deleted.
   * @param nodes - all node records there are; only of use to drivers whose nodes are parts of other nodes
   */
  list(nodes: ReadonlyMap<NodeId, NodeRecord>): readonly CloudResource[] | Promise<readonly CloudResource[]>;
  /** Arranges a failure. Several calls queue up, also of one kind. */
  failNext(kind: CloudFailureKind): void;
  /** Kinds that cannot happen in a cloud of this kind, e.g. `quota` where there is none. Default: all can. */
  readonly impossible?: readonly CloudFailureKind[] | undefined;
  /**
   * Kinds that happen, but to another provider: a driver that builds on one sees that it takes longer, or fails, and
   * never why. How such a launch ends is not looked at then; that requests are served in the end is. Default: none.
   */
  readonly unseen?: readonly CloudFailureKind[] | undefined;
  /**
   * What it allows while it is empty, by the names that the driver uses, e.g. `{ instances: 20 }`; other names are not
   * looked at. `{}`: it refuses without saying where its limits are. Needed unless `quota` is impossible or unseen.
   */
  readonly limits?: Resources | undefined;
  /** Most entries in one answer of its lists. Keep it small: the kit makes one more. Default: lists are whole. */
  readonly pageSize?: number | undefined;
  /** Ends it, after the test. */
  stop?(): void | Promise<void>;
}

/** A part of a configuration file, of whatever JSON can say. */
export type Entry = Readonly<Record<string, unknown>>;

/** What the kit needs of a driver's author. */
export interface DriverContractOptions<Cloud extends ContractCloud = ContractCloud> {
  readonly driver: Driver;
  /**
   * Makes a new, empty cloud; called for each test, one test after the other. From then on the driver must use it: by
   * an address in its configuration, or because the author's test tells it.
   */
  cloud(): Cloud | Promise<Cloud>;
  /**
   * A complete provider entry with at least one pool and one label. Its instances must be reachable without a network:
   * by addresses with `fake` in their names, or without key scan.
   */
  readonly validConfig: Entry | ((cloud: Cloud) => Entry);
  /** Entries in error, by what is wrong with them, e.g. `a label without a size`. */
  readonly invalidConfigs: Readonly<Record<string, Entry>>;
  /** The package's `package.json`; checked when given. */
  readonly packageFile?: string | URL | undefined;
  /** Other top-level keys of the file, e.g. `diskimages`, and further `providers` that this one builds on. */
  readonly file?: Entry | undefined;
  /** Only this part, e.g. `errors`, while you work on it. Default: all of them. */
  readonly part?: string | undefined;
  /** Drivers of those further providers. */
  readonly otherDrivers?: readonly Driver[] | undefined;
}

/** One check of the contract. */
export interface ContractTest {
  /** E.g. `errors`. */
  readonly part: string;
  /** A sentence without its subject: `ends a launch that is aborted`. */
  readonly name: string;
  /** Rejects when the driver breaks the rule. */
  readonly run: () => Promise<void>;
}

/** The two functions every test runner has. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}
