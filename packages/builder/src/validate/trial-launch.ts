import {
  newNode,
  newRequest,
  type LauncherId,
  type NodeRecord,
  type RequestId,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import { NodepoolError, ProviderUnavailableError, type Provider } from '@nodepool/core';
import type { DiskimageValidation } from '@nodepool/core/config';
import type { ImageSource } from '@nodepool/core/service';
import { runCheck } from '../tool/run-check.js';
import type { BuilderContext } from '../context/builder-context.js';
import type { TrialTarget } from './find-target.js';
import { TrialNode } from './trial-node.js';

/** Requestor shown for nodes that test images. */
const REQUESTOR = 'NodePool:validate';

/** The node to launch and its check. */
export interface TestOrder {
  readonly upload: UploadRecord;
  readonly target: TrialTarget;
  /** Default: the node only has to boot. */
  readonly check?: Pick<DiskimageValidation, 'command' | 'timeoutMs'>;
  readonly signal: AbortSignal;
}

/** A test in progress. */
interface Trial extends TestOrder {
  readonly running: Provider;
}

/**
 * Launches a node from an upload, as a launcher would, and runs the test command with it.
 * @throws NODEPOOL_IMAGE_TEST if the command fails, or the error of the launch or of starting the command
 */
export function tryLaunch(context: BuilderContext, order: TestOrder): Promise<void> {
  return withTrialProvider(context, order.upload, order.target, order.signal, (running) =>
    testWithNode(context, { ...order, running }),
  );
}

async function testWithNode(context: BuilderContext, trial: Trial): Promise<void> {
  const { clock } = context;
  const { upload, target, running, signal } = trial;
  const { pool, label } = target;
  const id = `validate-${upload.buildId}-${upload.id}` as RequestId;
  const request = { ...newRequest({ labels: [label.name], requestor: REQUESTOR }, clock.now()), id };
  const handler = running.getRequestHandler(pool, request);
  const draft = draftOf(context, trial);
  const trialNode = await TrialNode.create(context, handler.setNodeMetadata?.(draft) ?? draft);
  try {
    const order = { node: trialNode.current, label, pool, request, store: trialNode.store.bind(trialNode) };
    const { state, node, error } = (await handler.launch?.(order, signal)) ?? {
      ...{ state: 'failed', node: trialNode.current },
      error: new Error(`driver "${running.config.driverName}" launches no nodes`),
    };
    signal.throwIfAborted();
    if (state !== 'ready') throw error ?? new Error(`its launch ended as ${state}`);
    await runCommand(context, trial, node);
  } finally {
    await trialNode.giveAway();
  }
}

function draftOf(
  { clock, hostname }: Pick<BuilderContext, 'clock' | 'hostname'>,
  { upload, target: { pool, label }, running }: Trial,
): NodeRecord {
  return newNode(
    {
      state: 'init',
      labels: [label.name],
      provider: upload.provider,
      pool: pool.name,
      launcher: `${hostname}-Builder` as LauncherId,
      requestor: REQUESTOR,
      comment: `tests image ${upload.image}, build ${upload.buildId}`,
      attributes: pool.nodeAttributes,
      resources: running.quota?.quotaNeededByLabel(label.name, pool) ?? { instances: 1 },
    },
    clock.now(),
  );
}

async function runCommand(
  { env, sandbox, clock, logger }: BuilderContext,
  trial: Trial,
  { interfaceIp, connectionPort, username, hostKeys }: NodeRecord,
): Promise<void> {
  const { upload, check, signal } = trial;
  if (check?.command === undefined) return;
  const { said, refusal, hasRun } = await runCheck({
    key: 'command of validate',
    command: [check.command, upload.provider, interfaceIp ?? '', String(Number(connectionPort)), username ?? ''],
    env: { ...env, NODEPOOL_HOST_KEYS: hostKeys.join('\n') },
    ...{ sandbox, clock, signal, timeoutMs: check.timeoutMs },
  });
  signal.throwIfAborted();
  if (refusal !== undefined && !hasRun) throw new ProviderUnavailableError(refusal);
  if (refusal !== undefined) throw refused(trial, refusal);
  const { image, buildId: build, provider } = upload;
  logger.info('Test command of the image succeeded', { image, build, provider, output: said });
}

/** Error for an upload that failed its test. */
export function refused({ upload, target }: Omit<TestOrder, 'signal'>, reason: string, cause?: Error): NodepoolError {
  const where = `provider "${upload.provider}", pool "${target.pool.name}", label "${target.label.name}"`;
  const text = `image ${upload.image}, build ${upload.buildId}, has failed its test (${where}): ${reason}`;
  return new NodepoolError('NODEPOOL_IMAGE_TEST', text, { cause });
}

/** Time limit for a provider to become ready to launch. */
const START_LIMIT_MS = 120_000;

/**
 * Runs `use` with a separate provider object that knows this upload as its only image.
 * @throws {ProviderUnavailableError} if the provider does not become ready to launch
 */
async function withTrialProvider<T>(
  { providers, clock, logger }: Pick<BuilderContext, 'providers' | 'clock' | 'logger'>,
  upload: UploadRecord,
  target: TrialTarget,
  signal: AbortSignal,
  use: (provider: Provider) => Promise<T>,
): Promise<T> {
  let wake = (): void => undefined;
  const name = upload.provider;
  const provider = await providers.makeForNodes(name, { images: onlyThis(upload), capacityChanged: () => wake() });
  if (!provider) throw new ProviderUnavailableError(`provider "${name}" has left the configuration`);
  const late = new AbortController();
  const cancel = clock.setTimer(START_LIMIT_MS, () => late.abort(notReady(name, target)));
  try {
    const either = AbortSignal.any([signal, late.signal]);
    await provider.start(either);
    await untilTrue(
      () => canLaunch(provider, target),
      (look) => (wake = look),
      either,
    );
    cancel();
    return await use(provider);
  } finally {
    cancel();
    provider.stop();
    await provider.join().catch((error: unknown) => {
      logger.warn('Failed to stop provider cleanly', { provider: name, error });
    });
  }
}

const notReady = (provider: string, { pool, label }: TrialTarget): Error =>
  new ProviderUnavailableError(
    `provider "${provider}" is not ready to launch label "${label.name}" in pool "${pool.name}" after ${START_LIMIT_MS / 1_000} s`,
  );

function onlyThis(upload: UploadRecord): ImageSource {
  return {
    ready: true,
    newestUpload: (image, provider) => (image === upload.image && provider === upload.provider ? upload : undefined),
    // This provider knows only one upload and must not classify others as leaked.
    hasUpload: () => true,
    hasImage: () => true,
  };
}

function canLaunch(provider: Provider, { pool, label }: TrialTarget): boolean {
  const isQuotaKnown = provider.quota === undefined || provider.quota.estimatedNodepoolQuota() !== undefined;
  return isQuotaKnown && provider.labelReady(pool.name, label.name);
}

function untilTrue(isTrue: () => boolean, onChange: (look: () => void) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (isTrue()) resolve();
    };
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    onChange(look);
    if (signal.aborted) reject(signal.reason as Error);
    look();
  });
}
