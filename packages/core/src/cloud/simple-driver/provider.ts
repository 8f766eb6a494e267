import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { NodeRequestHandler, Provider, ProviderContext } from '../../contract/driver.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import { pauseConditions } from '../task-manager/pause-condition.js';
import { TaskManager } from '../task-manager/task-manager.js';

/** Configuration of a provider with a task manager. */
export interface TaskManagerProviderConfig extends ProviderConfig {
  /** Calls per second; `undefined` or `0`: no limit. */
  readonly rateLimit?: number | undefined;
  /** How long one task may take; then it fails, and the next one runs. Default 300,000. */
  readonly taskTimeoutMs?: number | undefined;
}

/**
 * Base of providers written around a {@link TaskManager} of their own, with `submitTask` and `rateLimit`. It starts,
 * stops and joins the task manager; the rest is up to the driver.
 */
export abstract class BaseTaskManagerProvider implements Provider {
  readonly config: TaskManagerProviderConfig;
  readonly taskManager: TaskManager;
  protected readonly context: ProviderContext;

  constructor(config: TaskManagerProviderConfig, context: ProviderContext) {
    this.config = config;
    this.context = context;
    this.taskManager = new TaskManager(config.name, {
      clock: context.clock,
      logger: context.logger,
      metrics: context.metrics,
      requestsPerSecond: config.rateLimit,
      taskTimeoutMs: config.taskTimeoutMs,
      measuredFrom: 'end',
      maxParallel: 1,
      random: () => context.random(),
    });
  }

  abstract getRequestHandler(pool: PoolConfig, request: RequestRecord): NodeRequestHandler;
  abstract startNodeCleanup(node: NodeRecord, signal: AbortSignal): Promise<void> | undefined;
  abstract cleanupLeakedResources(signal: AbortSignal): Promise<void>;

  /** Long pauses of calls. */
  conditions(): readonly FoundCondition[] {
    return pauseConditions(this.config.name, this.taskManager.pauses);
  }

  /** Nothing to prepare. */
  start(_signal: AbortSignal): Promise<void> {
    return Promise.resolve();
  }

  /** Nothing to keep from the successor. */
  idle(): void {
    // A task manager only does what it is given.
  }

  stop(): void {
    this.taskManager.stop();
  }

  join(): Promise<void> {
    return this.taskManager.join();
  }

  /** Always: such drivers manage no images. */
  labelReady(_pool: string, _label: string): boolean {
    return true;
  }

  /** None. */
  errorLabels(): ReadonlySet<string> {
    return NONE;
  }
}

const NONE: ReadonlySet<string> = new Set();
