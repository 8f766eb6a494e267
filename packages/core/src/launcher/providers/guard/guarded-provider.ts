import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { FoundCondition } from '../../../contract/condition.js';
import { DriverError } from '../../../contract/errors.js';
import type {
  AlienResource,
  Driver,
  HostStatus,
  LeakedResource,
  NodeRequestHandler,
  Provider,
  ProviderContext,
  QuotaSupport,
} from '../../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../../contract/provider-config.js';
import type { Logger } from '../../../contract/logger.js';
import type { LauncherEvents } from '../../events.js';
import { ContractViolationLog } from './contract-violation-log.js';
import { DriverScope, inDriverScope } from './driver-scope.js';
import { failingHandler, guardHandler } from './guarded-handler.js';
import { GuardedQuota } from './guarded-quota.js';
import { withTimeLimit } from '../../../async/time-limit.js';

/** Options of a guarded provider. */
export interface ProviderGuardOptions {
  readonly driver: Driver;
  readonly config: ProviderConfig;
  /** What the driver's provider is given. */
  readonly context: ProviderContext;
  /** Carries the provider's name. */
  readonly logger: Logger;
  /** Where errors of the driver are told that no call returned. */
  readonly events: LauncherEvents;
}

/** Longer than any deletion is meant to take; who deletes nodes then begins again. */
const DELETE_LIMIT_MS = 3_600_000;
const LEAK_LIMIT_MS = 600_000;
const NO_LABELS: ReadonlySet<string> = new Set();

/** Methods without which a provider is none. */
const REQUIRED = [
  ...['start', 'idle', 'stop', 'join', 'labelReady', 'getRequestHandler'],
  ...['startNodeCleanup', 'cleanupLeakedResources', 'errorLabels'],
] as const;

/** Every method, the optional ones too: one that is forgotten here would be lost to all drivers. */
type WholeProvider = Provider &
  Required<
    Omit<
      Provider,
      'quota' | 'startImages' | 'uploadImage' | 'deleteImage' | 'listImages' | 'listResources' | 'tagResource'
    >
  >;

const isBoolean = (answer: unknown) => typeof answer === 'boolean';

/**
 * A driver's provider as the launcher uses it. Whatever the driver does, this one answers: it never throws where the
 * contract does not allow it, waits for nothing indefinitely, and says what is wrong in the log. So one driver's fault
 * stays with its own provider.
 */
export class GuardedProvider implements WholeProvider {
  readonly config: ProviderConfig;
  readonly #options: ProviderGuardOptions;
  readonly #violations: ContractViolationLog;
  readonly #scope: DriverScope;
  #provider: Provider | undefined;
  #quota: { of: QuotaSupport; guarded: GuardedQuota } | undefined;
  #isLookingForLeaks = false;
  #isIdle = false;
  #isStopped = false;

  constructor(options: ProviderGuardOptions) {
    this.config = options.config;
    this.#options = options;
    this.#scope = new DriverScope(this, options.events);
    this.#violations = new ContractViolationLog(options.context.clock, options.logger, this.#scope);
  }

  get #driver(): string {
    return this.config.driverName;
  }

  /** Makes the driver's provider if that has not succeeded yet, and starts it. Rejects with whatever went wrong. */
  async start(signal: AbortSignal): Promise<void> {
    const provider = (this.#provider ??= await this.#make());
    if (this.#isIdle) return;
    await inDriverScope(this.#scope, () => provider.start(signal));
  }

  idle(): void {
    this.#isIdle = true;
    this.#violations.ask('idle', undefined, () => this.#provider?.idle());
  }

  stop(): void {
    this.#isIdle = true;
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#violations.ask('stop', undefined, () => this.#provider?.stop());
  }

  async join(): Promise<void> {
    try {
      await inDriverScope(this.#scope, () => this.#provider?.join());
    } catch (error) {
      this.#violations.tell('join', error);
    }
  }

  /** Without a provider requests wait; a provider that cannot say declines them. */
  labelReady(pool: string, label: string): boolean {
    const provider = this.#provider;
    return !provider || this.#violations.ask('labelReady', false, () => provider.labelReady(pool, label), isBoolean);
  }

  getRequestHandler(pool: PoolConfig, request: RequestRecord): NodeRequestHandler {
    try {
      const handler = inDriverScope(this.#scope, () => this.#provider?.getRequestHandler(pool, request));
      if (typeof handler?.imagesAvailable !== 'function') {
        throw new DriverError(this.#driver, `driver "${this.#driver}": getRequestHandler returned no handler`);
      }
      const { clock, nodes } = this.#options.context;
      return guardHandler(handler, { driver: this.#driver, clock, nodes, violations: this.#violations });
    } catch (error) {
      this.#violations.tell('getRequestHandler', error);
      return failingHandler(error instanceof Error ? error : new Error(String(error)));
    }
  }

  startNodeCleanup(node: NodeRecord, signal: AbortSignal): Promise<void> | undefined {
    const provider = this.#provider;
    if (!provider) throw new DriverError(this.#driver, `provider "${this.config.name}" could not be made yet`);
    const cleanup = inDriverScope(this.#scope, () => provider.startNodeCleanup(node, signal));
    if (cleanup === undefined) return undefined;
    const what = `deletion of node ${node.id} in provider "${this.config.name}"`;
    return withTimeLimit(this.#options.context.clock, DELETE_LIMIT_MS, what, Promise.resolve(cleanup)).then(
      () => undefined,
    );
  }

  ownsResource(node: NodeRecord): boolean {
    const hasId = node.externalId !== null;
    return this.#violations.ask('ownsResource', hasId, () => this.#provider?.ownsResource?.(node) ?? hasId, isBoolean);
  }

  labelCapacity(pool: string, label: string): number | undefined {
    const isAnswer = (answer: unknown) => answer === undefined || (typeof answer === 'number' && answer >= 0);
    return this.#violations.ask(
      'labelCapacity',
      undefined,
      () => this.#provider?.labelCapacity?.(pool, label),
      isAnswer,
    );
  }

  hindrances(pool: string, label: string): readonly string[] {
    const isAnswer = (answer: unknown) => Array.isArray(answer) && answer.every((each) => typeof each === 'string');
    return this.#violations.ask('hindrances', [], () => this.#provider?.hindrances?.(pool, label) ?? [], isAnswer);
  }

  canHold(pool: string, labels: readonly string[]): boolean {
    return this.#violations.ask('canHold', true, () => this.#provider?.canHold?.(pool, labels) ?? true, isBoolean);
  }

  /** One look at a time, with a time limit: the looks of other providers follow. */
  async cleanupLeakedResources(signal: AbortSignal): Promise<void> {
    const provider = this.#provider;
    if (!provider || this.#isLookingForLeaks) return;
    this.#isLookingForLeaks = true;
    const look = inDriverScope(this.#scope, async () => provider.cleanupLeakedResources(signal)).finally(
      () => (this.#isLookingForLeaks = false),
    );
    const what = `looking for leaked resources of provider "${this.config.name}"`;
    await withTimeLimit(this.#options.context.clock, LEAK_LIMIT_MS, what, look);
  }

  leakedResources(): readonly LeakedResource[] {
    return this.#violations.ask('leakedResources', [], () => this.#provider?.leakedResources?.() ?? [], Array.isArray);
  }

  hosts(): readonly HostStatus[] {
    return this.#violations.ask('hosts', [], () => this.#provider?.hosts?.() ?? [], Array.isArray);
  }

  conditions(): readonly FoundCondition[] {
    return this.#violations.ask('conditions', [], () => this.#provider?.conditions?.() ?? [], Array.isArray);
  }

  alienResources(): readonly AlienResource[] {
    return this.#violations.ask('alienResources', [], () => this.#provider?.alienResources?.() ?? [], Array.isArray);
  }

  errorLabels(): ReadonlySet<string> {
    const ask = () => this.#provider?.errorLabels() ?? NO_LABELS;
    return this.#violations.ask('errorLabels', NO_LABELS, ask, (labels) => labels instanceof Set);
  }

  get quota(): QuotaSupport | undefined {
    const of = this.#violations.ask('quota', undefined, () => this.#provider?.quota);
    if (!of) return undefined;
    if (this.#quota?.of !== of) this.#quota = { of, guarded: new GuardedQuota(of, this.#violations) };
    return this.#quota.guarded;
  }

  get uploadImage(): Provider['uploadImage'] {
    return this.#provider?.uploadImage?.bind(this.#provider);
  }

  get deleteImage(): Provider['deleteImage'] {
    return this.#provider?.deleteImage?.bind(this.#provider);
  }

  get listImages(): Provider['listImages'] {
    return this.#provider?.listImages?.bind(this.#provider);
  }

  nodeDeletedNotification(node: NodeRecord): void {
    this.#violations.ask('nodeDeletedNotification', undefined, () => this.#provider?.nodeDeletedNotification?.(node));
  }

  /** Nothing is made anew for a provider that was replaced or has left the configuration. */
  successorOf(node: NodeRecord): NodeRecord | undefined {
    if (this.#isIdle) return undefined;
    return this.#violations.ask('successorOf', undefined, () => this.#provider?.successorOf?.(node));
  }

  async #make(): Promise<Provider> {
    const { driver, config, context } = this.#options;
    const made = inDriverScope(this.#scope, () => driver.getProvider(config, context));
    const provider: Partial<Provider> | null | undefined = await Promise.resolve(made);
    const lacking = REQUIRED.filter((method) => typeof provider?.[method] !== 'function');
    if (lacking.length === 0) return provider as Provider;
    const what = provider ? `a provider without ${lacking.join(', ')}` : String(provider);
    throw new DriverError(this.#driver, `driver "${this.#driver}": getProvider returned ${what}`);
  }
}
