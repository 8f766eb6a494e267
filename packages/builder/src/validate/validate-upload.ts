import {
  newNode,
  newRequest,
  type LauncherId,
  type NodeRecord,
  type RequestId,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import { NodepoolError, type DiskimageValidation, type Provider } from '@nodepool/core';
import { runCheck } from '../tool/run-check.js';
import type { Surroundings } from '../context/surroundings.js';
import { findTarget, type TrialTarget } from './find-target.js';
import { TrialNode } from './trial-node.js';
import { withTrialProvider } from './trial-provider.js';

/** Shown as the requestor of nodes that test images. */
const REQUESTOR = 'NodePool:validate';

/**
 * Launches a node of an upload that is not `ready` yet, as a launcher would: it must boot, show its host keys where the
 * pool asks for them, and satisfy the command of the image. Images without `validate`, and providers without a label that
 * fits, need no test.
 * @param upload - in the cloud whole, with its external id
 * @param begun - called when there is a test
 * @throws NODEPOOL_IMAGE_TEST why the image may not be used
 */
export async function validateUpload(
  surroundings: Surroundings,
  upload: UploadRecord,
  signal: AbortSignal,
  begun: () => void,
): Promise<void> {
  const { config, logger } = surroundings;
  const { image, buildId: build, provider } = upload;
  const validation = config().diskimages.get(image)?.validate;
  const settings = config().providers.get(provider);
  if (!validation || !settings) return;
  const target = findTarget(settings, image, validation);
  if (!target) {
    logger.info('Image is not tested here: no label fits', { image, build, provider, pool: validation.pool });
    return;
  }
  const fields = { image, build, provider, pool: target.pool.name, label: target.label.name };
  logger.info('Image is tested with a node', fields);
  begun();
  await withTrialProvider(surroundings, upload, target, signal, (running) =>
    testWithNode(surroundings, { upload, validation, target, running, signal }),
  );
  logger.info('Image has passed its test', fields);
}

/** One test. */
interface Trial {
  readonly upload: UploadRecord;
  readonly validation: DiskimageValidation;
  readonly target: TrialTarget;
  readonly running: Provider;
  readonly signal: AbortSignal;
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
    if (state !== 'ready') throw refused(trial, error?.message ?? `its launch ended as ${state}`, error);
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
  const { upload, validation, signal } = trial;
  if (validation.command === undefined) return;
  const { said, refusal } = await runCheck({
    key: 'command of validate',
    command: [validation.command, upload.provider, interfaceIp ?? '', String(Number(connectionPort)), username ?? ''],
    env: { ...env, NODEPOOL_HOST_KEYS: hostKeys.join('\n') },
    ...{ sandbox, clock, signal, timeoutMs: validation.timeoutMs },
  });
  signal.throwIfAborted();
  if (refusal !== undefined) throw refused(trial, refusal);
  const { image, buildId: build, provider } = upload;
  logger.info('Test command of the image succeeded', { image, build, provider, output: said });
}

function refused({ upload, target }: Trial, reason: string, cause?: Error): NodepoolError {
  const where = `provider "${upload.provider}", pool "${target.pool.name}", label "${target.label.name}"`;
  const text = `image ${upload.image}, build ${upload.buildId}, has failed its test (${where}): ${reason}`;
  return new NodepoolError('NODEPOOL_IMAGE_TEST', text, { cause });
}
