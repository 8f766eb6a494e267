import type { JsonObject, Resources } from '@nodepool/zk-protocol';
import type { ProviderConfig } from './provider-config.js';

/** Position of a value in a configuration file. Lines and columns count from 1. */
export interface SourcePosition {
  file: string;
  line: number;
  column: number;
}

/** One problem of a configuration. */
export interface ConfigProblem {
  severity: 'error' | 'warning';
  position: SourcePosition | undefined;
  /** YAML path such as `providers[0].pools[1].max-servers`. */
  path: string;
  /** The problem, the expected value, and the nearest valid name, if any. */
  message: string;
}

/**
 * `validate`: unknown keys are errors, as for `config-validate`. `service`: they are warnings, so that a daemon
 * continues.
 */
export type ConfigMode = 'service' | 'validate';

/** One member of the ensemble. All members have the same chroot. */
export interface ZooKeeperServer {
  host: string;
  port: number;
  chroot: string | undefined;
}

/** Paths of PEM files. */
export interface ZooKeeperTls {
  certFile: string;
  keyFile: string;
  caFile: string;
  /** Whether the server's certificate must name the host connected to (`verify-hostname`). Default true. */
  verifyHostname: boolean;
}

/** Login at servers that require one. */
export interface ZooKeeperDigest {
  user: string;
  password: string;
  /** Restrict new znodes to this login. Default false: open to everyone, as Zuul expects. */
  protect: boolean;
}

/**
 * Who may use the embedded server (`embedded-zookeeper-access`): processes of the launcher's user, those of its group as
 * well, or every user of this machine.
 */
export type EmbeddedAccess = 'owner' | 'group' | 'anyone';

/** How to reach ZooKeeper. */
export interface ZooKeeperSettings {
  /** Empty: the embedded server is used. */
  servers: readonly ZooKeeperServer[];
  tls: ZooKeeperTls | undefined;
  digest: ZooKeeperDigest | undefined;
  /** Default 10,000. */
  sessionTimeoutMs: number;
  /** Who of this machine may use the embedded server. Default `owner`. */
  embeddedAccess: EmbeddedAccess;
  /** TCP port of the embedded server on loopback (`embedded-zookeeper-port`). */
  embeddedPort?: number | undefined;
}

/** A top-level `labels[]` entry. */
export interface LabelConfig {
  name: string;
  /** `-1` disables the label. */
  minReady: number;
  /** `0`: no limit. */
  maxReadyAgeMs: number;
  /** Standby nodes by schedule and demand; `undefined`: `minReady` of them. */
  standby?: StandbySettings | undefined;
  /** What becomes of standby nodes until a request needs them. Default: they run. */
  keep?: 'stopped' | undefined;
  /** Price of a node for an hour, the same for all providers or by provider; `undefined`: unknown. */
  price?: number | ReadonlyMap<string, number> | undefined;
}

/** Standby nodes of a label by schedule and demand: the largest number that one of them says, at most `atMost`. */
export interface StandbySettings {
  readonly schedule: readonly ScheduledNodes[];
  /** IANA name of the time zone of the schedule, and of `auto`. */
  readonly timeZone: string;
  /** Keep the most nodes that requests needed at once during this time before; `undefined`: it does not matter. */
  readonly followMs: number | undefined;
  /** Fit the number to hours and kinds of day. */
  readonly auto: boolean;
  /** Percent of requests to serve at once; `undefined`: no number is given. */
  readonly goal: number | undefined;
  readonly atMost: number;
}

/** Standby nodes at certain times. */
export type ScheduledNodes = ScheduledHours | ScheduledRun;

/** Standby nodes during hours of days of the week, by the clock of a time zone. */
export interface ScheduledHours {
  readonly kind: 'hours';
  readonly nodes: number;
  /** Sunday 0. */
  readonly days: readonly number[];
  /** Since midnight; not before `toMinute`: the time passes midnight. */
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** Standby nodes that are ready at times of cron. */
export interface ScheduledRun {
  readonly kind: 'run';
  readonly nodes: number;
  /** Five fields. */
  readonly cron: string;
  /** How long they are kept. */
  readonly forMs: number;
  /** Whether nodes that were taken are not replaced. */
  readonly untilConsumed: boolean;
}

/** Test of a new upload before launchers may use it. */
export interface DiskimageValidation {
  /** Pool to search for a label; `undefined`: all pools. */
  pool: string | undefined;
  /** Label to launch; `undefined`: the first one with the image. */
  label: string | undefined;
  /** Program run by the builder once the node answers; `undefined`: none. */
  command: string | undefined;
  /** Time limit of the program. */
  timeoutMs: number;
}

/** A top-level `diskimages[]` entry with its parents' values merged in. */
export interface DiskimageConfig {
  name: string;
  abstract: boolean;
  parent: string | undefined;
  formats: readonly string[];
  keepFormats: readonly string[];
  deleteAfterUpload: boolean;
  rebuildAgeMs: number;
  buildTimeoutMs: number;
  release: string;
  elements: readonly string[];
  envVars: Readonly<Record<string, string>>;
  pause: boolean;
  username: string;
  pythonPath: string;
  shellType: string | undefined;
  dibCmd: string;
  /** Host names of the builders that may build it; `undefined`: all of them. */
  builders: readonly string[] | undefined;
  /** `undefined`: an upload is used as soon as the cloud has it. */
  validate: DiskimageValidation | undefined;
  /** Whether launches try a new build; otherwise it gets all of them at once. */
  canary: boolean;
  metadata: JsonObject;
}

/** A token that permits writes through the web API. */
export interface ApiToken {
  /** Named in the audit line of everything done with the token. */
  name: string;
  /** Sent as `Authorization: Bearer`. */
  token: string;
}

/** Settings of the history of requests and nodes (`history`). */
export interface HistorySettings {
  readonly enabled: boolean;
  /** `undefined`: `history` in the state directory. */
  readonly directory: string | undefined;
  /** Total size of the history files. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** A range of IP addresses. */
export interface Subnet {
  readonly network: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** PEM files of a web server with HTTPS. */
export interface WebTls {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Users of a Unix socket: that of the service, those of its group, all of this computer. */
export const SOCKET_ACCESSES = ['none', 'owner', 'group', 'anyone'] as const;
/** One of {@link SOCKET_ACCESSES}. */
export type SocketAccess = (typeof SOCKET_ACCESSES)[number];

/** Settings of the web server of a service. */
export interface WebappConfig {
  /** 0: any free port. */
  readonly port: number;
  readonly listenAddress: string;
  /** Users of this computer who may lease nodes without a token, on a Unix socket. Missing: none. */
  readonly socketAccess?: SocketAccess | undefined;
  /** Missing: HTTP. */
  readonly tls?: WebTls | undefined;
  /** Whether tokens may arrive over plain HTTP from other computers. Missing: no. */
  readonly insecureTokens?: boolean;
  /** Whether pages of other sites may read what the API shows without a token. Missing: no. */
  readonly crossOriginReads?: boolean;
  /** Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` count. Missing: none. */
  readonly trustedProxies?: readonly Subnet[];
  /** Names by which the service is called besides that of its host. Missing: none. */
  readonly names?: readonly string[];
}

/**
 * A provider of the file that is not served, as its driver is not installed or not known. Its nodes, uploads and records
 * belong to the launcher and the builder that have the driver, and must not be changed.
 */
export interface UnservedProvider {
  readonly name: string;
  readonly driverName: string;
  /** Why it is not served, with the remedy. */
  readonly reason: string;
  /** The warning about it, with its position. */
  readonly problem: ConfigProblem;
  /** The labels of each pool, as far as the entry has the form that most drivers have. */
  readonly pools: ReadonlyMap<string, readonly string[]>;
  /** Names of the diskimages that it lists. */
  readonly diskimages: ReadonlySet<string>;
}

/** Content of `nodepool.yaml` and the secure file, validated, with defaults filled in. Immutable. */
export interface Config {
  readonly file: string;
  readonly zookeeper: ZooKeeperSettings;
  /** Of the launcher. */
  readonly webapp: WebappConfig;
  readonly builderWebapp: WebappConfig;
  readonly elementsDir: string | undefined;
  readonly imagesDir: string | undefined;
  readonly buildLogDir: string;
  readonly buildLogRetention: number;
  /** Directories that a builder of root accepts with any owner and group. Missing: none. */
  readonly trustedDirectories?: readonly string[];
  readonly labels: ReadonlyMap<string, LabelConfig>;
  /** IANA name, of labels that name none. Missing: that of the host. */
  readonly timeZone?: string | undefined;
  readonly diskimages: ReadonlyMap<string, DiskimageConfig>;
  /** In file order. */
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  /** Providers whose driver is missing, by name; none of them is in `providers`. Missing: none. */
  readonly unserved?: ReadonlyMap<string, UnservedProvider>;
  /** `0`: no limit. */
  readonly maxHoldAgeMs: number;
  /** Private key that signs certificates of leases, an absolute path. Missing: none. */
  readonly leaseCaKey?: string | undefined;
  readonly tenantLimits: ReadonlyMap<string, Resources>;
  /** Empty: the web API is read-only. */
  readonly apiTokens: readonly ApiToken[];
  /** Keys that sign tokens for leases: the first signs, all are accepted. */
  readonly tokenKeys: readonly string[];
  /** Default of `steering` of providers: whether requests avoid a failing provider. Missing: yes. */
  readonly steering?: boolean;
  /** Missing: defaults. */
  readonly history?: HistorySettings;
  /** Warnings found while loading. */
  readonly warnings: readonly ConfigProblem[];
}
