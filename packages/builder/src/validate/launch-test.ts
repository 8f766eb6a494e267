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
import { runCheck } from '../tool/run-check.js';
import type { Surroundings } from '../context/surroundings.js';
import type { TrialTarget } from './find-target.js';
import { TrialNode } from './trial-node.js';
import { withTrialProvider } from './trial-provider.js';

/** Shown as the requestor of nodes that test images. */
const REQUESTOR = 'NodePool:validate';

/** What is launched, and what must be true of it. */
export interface TestOrder {
  readonly upload: UploadRecord;
  readonly target: TrialTarget;
  /** Default: it must boot, and nothing more. */
  readonly check?: Pick<DiskimageValidation, 'command' | 'timeoutMs'>;
  readonly signal: AbortSignal;
}

/** A test in progress. */
interface Trial extends TestOrder {
  readonly running: Provider;
}

/**
 * Launches a node of an upload, as a launcher would, and runs the command of the test with it.
 * @throws NODEPOOL_IMAGE_TEST when the command says no; why the node could not be launched, or the command not be run
 */
export function launchTest(surroundings: Surroundings, order: TestOrder): Promise<void> {
  return withTrialProvider(surroundings, order.upload, order.target, order.signal, (running) =>
    testWithNode(surroundings, { ...order, running }),
  );
}

async function testWithNode(surroundings: Surroundings, trial: Trial): Promise<void> {
  const { clock } = surroundings;
  const { upload, target, running, signal } = trial;
  const { pool, label } = target;
  const id = `validate-${upload.buildId}-${upload.id}` as RequestId;
  const request = { ...newRequest({ labels: [label.name], requestor: REQUESTOR }, clock.now()), id };
  const handler = running.getRequestHandler(pool, request);
  const draft = draftOf(surroundings, trial);
  const trialNode = await TrialNode.create(surroundings, handler.setNodeMetadata?.(draft) ?? draft);
  try {
    const order = { node: trialNode.current, label, pool, request, store: trialNode.store.bind(trialNode) };
    const { state, node, error } = (await handler.launch?.(order, signal)) ?? {
      ...{ state: 'failed', node: trialNode.current },
      error: new Error(`driver "${running.config.driverName}" launches no nodes`),
    };
    signal.throwIfAborted();
    if (state !== 'ready') throw error ?? new Error(`its launch ended as ${state}`);
    await runCommand(surroundings, trial, node);
  } finally {
    await trialNode.giveAway();
  }
}

function draftOf(
  { clock, hostname }: Pick<Surroundings, 'clock' | 'hostname'>,
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
  { env, sandbox, clock, logger }: Surroundings,
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

/** The upload may not be used. */
export function refused({ upload, target }: Omit<TestOrder, 'signal'>, reason: string, cause?: Error): NodepoolError {
  const where = `provider "${upload.provider}", pool "${target.pool.name}", label "${target.label.name}"`;
  const text = `image ${upload.image}, build ${upload.buildId}, has failed its test (${where}): ${reason}`;
  return new NodepoolError('NODEPOOL_IMAGE_TEST', text, { cause });
}
