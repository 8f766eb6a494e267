import type { JsonObject, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
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
  UnusableNode,
} from '../../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../../contract/provider-config.js';
import type { Logger } from '../../../contract/logger.js';
import { DriverScope, type Faults } from './driver-scope.js';
import { failingHandler, guardHandler } from './guarded-handler.js';
import { guardQuota } from './guarded-quota.js';
import { withTimeLimit } from '../../../async/time-limit.js';

/** Options of a guarded provider. */
export interface ProviderGuardOptions {
  readonly driver: Driver;
  readonly config: ProviderConfig;
  /** Passed to the driver's provider. */
  readonly context: ProviderContext;
  /** With the provider's name as a field. */
  readonly logger: Logger;
  /** Reports errors of the driver outside of any call. */
  readonly faults: Faults;
}

/** Longer than any deletion should take; after that the deletion is retried. */
const DELETE_LIMIT_MS = 3_600_000;
/** Longer than any stop should take. */
const STOP_LIMIT_MS = 900_000;
const LEAK_LIMIT_MS = 600_000;
const NO_LABELS: ReadonlySet<string> = new Set();

/** Required methods of a provider. */
const REQUIRED = [
  ...['start', 'idle', 'stop', 'join', 'labelReady', 'getRequestHandler'],
  ...['startNodeCleanup', 'cleanupLeakedResources', 'errorLabels'],
] as const;

/** Every method, optional ones included: a method missing here would be lost for all drivers. */
type WholeProvider = Provider &
  Required<
    Omit<
      Provider,
      'quota' | 'startImages' | 'uploadImage' | 'deleteImage' | 'listImages' | 'listResources' | 'tagResource'
    >
  >;

const isBoolean = (answer: unknown) => typeof answer === 'boolean';

/**
 * A driver's provider as the launcher uses it. It never throws where the contract does not allow it, never waits
 * indefinitely, and logs contract violations. So a faulty driver affects its own provider only.
 */
export class GuardedProvider implements WholeProvider {
  readonly config: ProviderConfig;
  readonly #options: ProviderGuardOptions;
  readonly #scope: DriverScope;
  #provider: Provider | undefined;
  #quota: { of: QuotaSupport; guarded: QuotaSupport } | undefined;
  #isLookingForLeaks = false;
  #isIdle = false;
  #hasEnded = false;

  constructor(options: ProviderGuardOptions) {
    this.config = options.config;
    this.#options = options;
    const { context, logger, faults } = options;
    this.#scope = new DriverScope(this, { clock: context.clock, logger, faults });
  }

  get #driver(): string {
    return this.config.driverName;
  }

  /** Creates the driver's provider, if that has not succeeded yet, and starts it. Rejects with the driver's error. */
  async start(signal: AbortSignal): Promise<void> {
    const provider = (this.#provider ??= await this.#make());
    if (this.#isIdle) return;
    await this.#scope.run(() => provider.start(signal));
  }

  refresh(): void {
    if (!this.#isIdle) this.#scope.ask('refresh', undefined, () => this.#provider?.refresh?.());
  }

  idle(): void {
    this.#isIdle = true;
    this.#scope.ask('idle', undefined, () => this.#provider?.idle());
  }

  stop(): void {
    this.#isIdle = true;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#scope.ask('stop', undefined, () => this.#provider?.stop());
  }

  async join(): Promise<void> {
    try {
      await this.#scope.run(() => this.#provider?.join());
    } catch (error) {
      this.#scope.logViolation('join', error);
    }
  }

  /** Until the provider exists requests wait; if it fails to answer they are declined. */
  labelReady(pool: string, label: string): boolean {
    const provider = this.#provider;
    return !provider || this.#scope.ask('labelReady', false, () => provider.labelReady(pool, label), isBoolean);
  }

  getRequestHandler(pool: PoolConfig, request: RequestRecord): NodeRequestHandler {
    try {
      const handler = this.#scope.run(() => this.#provider?.getRequestHandler(pool, request));
      if (typeof handler?.imagesAvailable !== 'function') {
        throw new DriverError(this.#driver, `driver "${this.#driver}": getRequestHandler returned no handler`);
      }
      const { clock, nodes } = this.#options.context;
      return guardHandler(handler, { scope: this.#scope, clock, nodes });
    } catch (error) {
      this.#scope.logViolation('getRequestHandler', error);
      return failingHandler(error instanceof Error ? error : new Error(String(error)));
    }
  }

  startNodeCleanup(node: NodeRecord, signal: AbortSignal): Promise<void> | undefined {
    const provider = this.#provider;
    if (!provider) throw new DriverError(this.#driver, `provider "${this.config.name}" could not be made yet`);
    const cleanup = this.#scope.run(() => provider.startNodeCleanup(node, signal));
    if (cleanup === undefined) return undefined;
    const what = `deletion of node ${node.id} in provider "${this.config.name}"`;
    return withTimeLimit(this.#options.context.clock, DELETE_LIMIT_MS, what, Promise.resolve(cleanup)).then(
      () => undefined,
    );
  }

  async stopNode(node: NodeRecord, signal: AbortSignal): Promise<JsonObject> {
    const provider = this.#provider;
    if (!provider?.stopNode) throw new DriverError(this.#driver, `driver "${this.#driver}" stops no nodes`);
    const stop = this.#scope.run(() => provider.stopNode?.(node, signal));
    const what = `stop of node ${node.id} in provider "${this.config.name}"`;
    const state = await withTimeLimit(this.#options.context.clock, STOP_LIMIT_MS, what, Promise.resolve(stop));
    if (typeof state === 'object') return state;
    throw new DriverError(this.#driver, `driver "${this.#driver}": stopNode returned no launch state`);
  }

  ownsResource(node: NodeRecord): boolean {
    const hasId = node.externalId !== null;
    return this.#scope.ask('ownsResource', hasId, () => this.#provider?.ownsResource?.(node) ?? hasId, isBoolean);
  }

  labelCapacity(pool: string, label: string): number | undefined {
    const isAnswer = (answer: unknown) => answer === undefined || (typeof answer === 'number' && answer >= 0);
    return this.#scope.ask('labelCapacity', undefined, () => this.#provider?.labelCapacity?.(pool, label), isAnswer);
  }

  blockers(pool: string, label: string): readonly string[] {
    const isAnswer = (answer: unknown) => Array.isArray(answer) && answer.every((each) => typeof each === 'string');
    return this.#scope.ask('blockers', [], () => this.#provider?.blockers?.(pool, label) ?? [], isAnswer);
  }

  canHold(pool: string, labels: readonly string[]): boolean {
    return this.#scope.ask('canHold', true, () => this.#provider?.canHold?.(pool, labels) ?? true, isBoolean);
  }

  /** Only one search at a time, with a time limit. */
  async cleanupLeakedResources(signal: AbortSignal): Promise<void> {
    const provider = this.#provider;
    if (!provider || this.#isLookingForLeaks) return;
    this.#isLookingForLeaks = true;
    const look = this.#scope
      .run(async () => provider.cleanupLeakedResources(signal))
      .finally(() => (this.#isLookingForLeaks = false));
    const what = `looking for leaked resources of provider "${this.config.name}"`;
    await withTimeLimit(this.#options.context.clock, LEAK_LIMIT_MS, what, look);
  }

  unusableNodes(): readonly UnusableNode[] {
    return this.#scope.ask('unusableNodes', [], () => this.#provider?.unusableNodes?.() ?? [], Array.isArray);
  }

  leakedResources(): readonly LeakedResource[] {
    return this.#scope.ask('leakedResources', [], () => this.#provider?.leakedResources?.() ?? [], Array.isArray);
  }

  hosts(): readonly HostStatus[] {
    return this.#scope.ask('hosts', [], () => this.#provider?.hosts?.() ?? [], Array.isArray);
  }

  conditions(): readonly FoundCondition[] {
    return this.#scope.ask('conditions', [], () => this.#provider?.conditions?.() ?? [], Array.isArray);
  }

  alienResources(): readonly AlienResource[] {
    return this.#scope.ask('alienResources', [], () => this.#provider?.alienResources?.() ?? [], Array.isArray);
  }

  errorLabels(): ReadonlySet<string> {
    const ask = () => this.#provider?.errorLabels() ?? NO_LABELS;
    return this.#scope.ask('errorLabels', NO_LABELS, ask, (labels) => labels instanceof Set);
  }

  get quota(): QuotaSupport | undefined {
    const of = this.#scope.ask('quota', undefined, () => this.#provider?.quota);
    if (!of) return undefined;
    if (this.#quota?.of !== of) this.#quota = { of, guarded: guardQuota(of, this.#scope) };
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
    this.#scope.ask('nodeDeletedNotification', undefined, () => this.#provider?.nodeDeletedNotification?.(node));
  }

  /** `undefined` for a provider that was replaced or has left the configuration. */
  successorOf(node: NodeRecord): NodeRecord | undefined {
    if (this.#isIdle) return undefined;
    return this.#scope.ask('successorOf', undefined, () => this.#provider?.successorOf?.(node));
  }

  async #make(): Promise<Provider> {
    const { driver, config, context } = this.#options;
    const made = this.#scope.run(() => driver.getProvider(config, context));
    const provider: Partial<Provider> | null | undefined = await Promise.resolve(made);
    const lacking = REQUIRED.filter((method) => typeof provider?.[method] !== 'function');
    if (lacking.length === 0) return provider as Provider;
    const what = provider ? `a provider without ${lacking.join(', ')}` : String(provider);
    throw new DriverError(this.#driver, `driver "${this.#driver}": getProvider returned ${what}`);
  }
}
