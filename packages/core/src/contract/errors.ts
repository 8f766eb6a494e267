import { isNodepoolError, NodepoolError } from '@nodepool/zk-protocol';
import type { ConfigProblem } from './config.js';

/** What the errors of this package have in common: a message, perhaps a cause, and a key of their own for metrics. */
export interface CoreErrorOptions {
  cause?: unknown;
  /** Overrides the metric key that {@link statsdKeyOf} takes from the table, e.g. `error.ssh`. */
  statsdKey?: string | undefined;
}

/** Base of the errors below. `statsdKey` is set only when an error wants another key than its code's. */
export abstract class CoreError extends NodepoolError {
  readonly statsdKey: string | undefined;

  constructor(code: CoreErrorCode, message: string, options: CoreErrorOptions = {}) {
    super(code, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.statsdKey = options.statsdKey;
  }
}

/** Stable code of every error this package defines. */
export type CoreErrorCode =
  | 'NODEPOOL_CONFIG'
  | 'NODEPOOL_LOGGING'
  | 'NODEPOOL_DRIVER'
  | 'NODEPOOL_QUOTA'
  | 'NODEPOOL_CAPACITY'
  | 'NODEPOOL_NOT_FOUND'
  | 'NODEPOOL_LOCK_LOST'
  | 'NODEPOOL_PROVIDER_UNAVAILABLE'
  | 'NODEPOOL_LAUNCH_STATUS'
  | 'NODEPOOL_NETWORK'
  | 'NODEPOOL_KEYSCAN'
  | 'NODEPOOL_SSH'
  | 'NODEPOOL_ADDRESS'
  | 'NODEPOOL_TIMEOUT'
  | 'NODEPOOL_CREATE_TIMEOUT'
  | 'NODEPOOL_DELETE_TIMEOUT'
  | 'NODEPOOL_IMAGE_TIMEOUT';

/** Metric keys operators graph, by error code. */
const STATSD_KEYS: Readonly<Record<CoreErrorCode, string>> = {
  NODEPOOL_CONFIG: 'error.nodepool',
  NODEPOOL_LOGGING: 'error.nodepool',
  NODEPOOL_DRIVER: 'error.nodepool',
  NODEPOOL_QUOTA: 'error.quota',
  NODEPOOL_CAPACITY: 'error.capacity',
  NODEPOOL_NOT_FOUND: 'error.nodepool',
  NODEPOOL_LOCK_LOST: 'error.zksession',
  NODEPOOL_PROVIDER_UNAVAILABLE: 'error.network',
  NODEPOOL_LAUNCH_STATUS: 'error.status',
  NODEPOOL_NETWORK: 'error.network',
  NODEPOOL_KEYSCAN: 'error.keyscan',
  NODEPOOL_SSH: 'error.ssh',
  NODEPOOL_ADDRESS: 'error.ipadd',
  NODEPOOL_TIMEOUT: 'error.nodepool',
  NODEPOOL_CREATE_TIMEOUT: 'error.servercreatetimeout',
  NODEPOOL_DELETE_TIMEOUT: 'error.serverdeletetimeout',
  NODEPOOL_IMAGE_TIMEOUT: 'error.imagetimeout',
};

/**
 * The metric an error counts under, below `nodepool.launch.`, e.g. `error.keyscan`. Anything unknown counts as
 * `error.unknown`.
 */
export function statsdKeyOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error.unknown';
  if ('statsdKey' in error && typeof error.statsdKey === 'string') return error.statsdKey;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ZK_SESSION_EXPIRED') return 'error.zksession';
  return typeof code === 'string' && isCoreErrorCode(code) ? STATSD_KEYS[code] : 'error.unknown';
}

function isCoreErrorCode(code: string): code is CoreErrorCode {
  return Object.hasOwn(STATSD_KEYS, code);
}

/** What a {@link ConfigError} may say for the condition that follows from it. */
export interface ConfigErrorOptions extends CoreErrorOptions {
  /** Class of the cause in one CamelCase word, e.g. `FlavorMissing`. */
  readonly reason?: string | undefined;
  /** What the operator can do about it. */
  readonly nextStep?: string | undefined;
}

/** The configuration is wrong: the operator has to edit a file. The message has one line per problem. */
export class ConfigError extends CoreError {
  /** Everything that was found, warnings included; empty when the file could not be read at all. */
  readonly problems: readonly ConfigProblem[];
  /** See {@link ConfigErrorOptions}. */
  readonly reason: string | undefined;
  /** See {@link ConfigErrorOptions}. */
  readonly nextStep: string | undefined;

  constructor(message: string, problems: readonly ConfigProblem[] = [], options: ConfigErrorOptions = {}) {
    super('NODEPOOL_CONFIG', message, options);
    this.problems = problems;
    this.reason = options.reason;
    this.nextStep = options.nextStep;
  }
}

/** The logging configuration is wrong or cannot be read. */
export class LoggingError extends CoreError {
  constructor(message: string, options: CoreErrorOptions = {}) {
    super('NODEPOOL_LOGGING', message, options);
  }
}

/** Options of {@link DriverError}. */
export interface DriverErrorOptions extends CoreErrorOptions {
  /** No package has the driver: it is not installed, or not known. Default false. */
  readonly isMissing?: boolean | undefined;
}

/** A driver cannot be used: not installed, made for another version, or its package is not as it should be. */
export class DriverError extends CoreError {
  /** The driver as the configuration names it. */
  readonly driver: string;
  /** See {@link DriverErrorOptions}. */
  readonly isMissing: boolean;

  constructor(driver: string, message: string, options: DriverErrorOptions = {}) {
    super('NODEPOOL_DRIVER', message, options);
    this.driver = driver;
    this.isMissing = options.isMissing === true;
  }
}

/** The provider's quota is used up: the request waits, no attempt is counted. */
export class QuotaError extends CoreError {
  constructor(message: string, options: CoreErrorOptions = {}) {
    super('NODEPOOL_QUOTA', message, options);
  }
}

/** The cloud has no capacity for the instance just now: the attempt is counted. */
export class CapacityError extends CoreError {
  constructor(message: string, options: CoreErrorOptions = {}) {
    super('NODEPOOL_CAPACITY', message, options);
  }
}

/** The thing asked for does not exist; when deleting, that is success. */
export class NotFoundError extends CoreError {
  constructor(message: string, options: CoreErrorOptions = {}) {
    super('NODEPOOL_NOT_FOUND', message, options);
  }
}

/** Something took longer than it may. */
export class TimeoutError extends CoreError {
  /** The limit that passed, in milliseconds. */
  readonly timeoutMs: number | undefined;

  constructor(
    message: string,
    options: CoreErrorOptions & { timeoutMs?: number; operation?: 'create' | 'delete' | 'image' } = {},
  ) {
    super(timeoutCode(options.operation), message, options);
    this.timeoutMs = options.timeoutMs;
  }
}

function timeoutCode(operation: 'create' | 'delete' | 'image' | undefined): CoreErrorCode {
  if (operation === 'create') return 'NODEPOOL_CREATE_TIMEOUT';
  if (operation === 'delete') return 'NODEPOOL_DELETE_TIMEOUT';
  return operation === 'image' ? 'NODEPOOL_IMAGE_TIMEOUT' : 'NODEPOOL_TIMEOUT';
}

/** The cloud or its network does not answer: back off and try again. */
export class ProviderUnavailableError extends CoreError {
  constructor(message: string, options: CoreErrorOptions = {}) {
    super('NODEPOOL_PROVIDER_UNAVAILABLE', message, options);
  }
}

/** A lock is, or may be, lost: stop and touch nothing that it protects. */
export class LockLostError extends CoreError {
  constructor(message: string, options: CoreErrorOptions = {}) {
    super('NODEPOOL_LOCK_LOST', message, options);
  }
}

/** Why a new instance is no use, see {@link LaunchError}. */
export type LaunchErrorReason = 'status' | 'network' | 'keyscan' | 'ssh' | 'address';

const LAUNCH_CODES = {
  status: 'NODEPOOL_LAUNCH_STATUS',
  network: 'NODEPOOL_NETWORK',
  keyscan: 'NODEPOOL_KEYSCAN',
  ssh: 'NODEPOOL_SSH',
  address: 'NODEPOOL_ADDRESS',
} as const satisfies Record<LaunchErrorReason, CoreErrorCode>;

/** A launch attempt failed for a reason of the instance: the attempt is counted, its code tells the reason. */
export class LaunchError extends CoreError {
  readonly reason: LaunchErrorReason;

  constructor(reason: LaunchErrorReason, message: string, options: CoreErrorOptions = {}) {
    super(LAUNCH_CODES[reason], message, options);
    this.reason = reason;
  }

  /**
   * A machine of this provider and database that was made for a former node of the number has the name of the launch. The name is free
   * again once the search for leaked resources has deleted it.
   * @param what - has the name, e.g. `instance "np0000000001"`
   */
  static takenByFormer(what: string): LaunchError {
    const why = `${what} was made for a former node of this number, before an older copy of the database was restored`;
    return new LaunchError('status', `${why}; it is deleted as leaked, then launches use the name again`);
  }
}

/**
 * The cloud answered "too many requests": the call had no effect. The task manager slows down and repeats it; everybody
 * else treats it as any {@link ProviderUnavailableError}.
 */
export class RateLimitedError extends ProviderUnavailableError {
  /** How long the cloud asks to wait, if it says. */
  readonly retryAfterMs: number | undefined;
  readonly rateLimited = true;

  constructor(message: string, options: CoreErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whether the error says "too many requests", whichever copy of this package made it. */
export function isRateLimited(error: unknown): error is RateLimitedError {
  return (
    isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE') && 'rateLimited' in error && error.rateLimited === true
  );
}
