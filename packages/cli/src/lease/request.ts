import {
  decodeRequest,
  encodeRequest,
  isZooKeeperError,
  newRequest,
  orAbort,
  requestCreatePath,
  requestPath,
  uuidHex,
} from '@nodepool/zk-protocol';
import type { Clock, RequestId, RequestRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { labelsToText } from '@nodepool/core/service';
import { CliError } from '../command/errors.js';

/** The request to submit. */
export interface RequestSpec {
  /** One node each, in this order. */
  readonly labels: readonly string[];
  /** Preferred provider. */
  readonly provider: string | undefined;
  /** 100 high, 200 normal, 300 low. */
  readonly priority: number;
  /** Who asks, as listings show it. */
  readonly requestor: string;
}

/**
 * Submits a request. It is ephemeral, as Nodepool's own are: if this process dies, the request ends with its session. Zuul's are
 * persistent, because its schedulers take over from one another.
 */
export async function submitRequest(zk: ZooKeeper, clock: Clock, spec: RequestSpec): Promise<RequestId> {
  const nowMs = clock.now();
  const request = newRequest(
    {
      labels: spec.labels,
      provider: spec.provider ?? null,
      requestor: spec.requestor,
      requestorData: { command: 'nodepool' },
      eventId: uuidHex(),
      createdTimeMs: nowMs,
    },
    nowMs,
  );
  await zk.ensurePath(requestPath('' as RequestId).slice(0, -1));
  const path = await zk.create(requestCreatePath(spec.priority), encodeRequest(request), {
    ephemeral: true,
    sequential: true,
  });
  return path.slice(path.lastIndexOf('/') + 1) as RequestId;
}

/** Deletes a request; nodes allocated to it become free. Idempotent. */
export async function deleteRequest(zk: ZooKeeper, id: RequestId): Promise<void> {
  try {
    await zk.delete(requestPath(id));
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
  }
}

/** Resolves when the request or the connection may have changed. */
function nextWakeUp(zk: ZooKeeper, signal: AbortSignal): { wake: () => void; woken: Promise<void> } {
  let wake = () => {};
  const woken = new Promise<void>((resolve, reject) => {
    const cleanUp = () => {
      unsubscribe();
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = () => {
      cleanUp();
      reject(signal.reason as Error);
    };
    wake = () => {
      cleanUp();
      resolve();
    };
    const unsubscribe = zk.onState(() => wake());
    signal.addEventListener('abort', onAbort, { once: true });
  });
  woken.catch(() => {}); // The next check of the signal notices an abort during a read.
  return { wake, woken };
}

/** Options of a wait. */
export interface WaitOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  /** Ends the wait by rejecting with its reason. */
  readonly signal: AbortSignal;
  /** Called with each state of the request that is read. */
  readonly onChange: (request: RequestRecord) => void;
}

/**
 * Resolves with the fulfilled request.
 * @throws CliError when it failed or vanished
 */
export async function waitForRequest(id: RequestId, options: WaitOptions): Promise<RequestRecord> {
  const { zk, clock, signal, onChange } = options;
  const epoch = zk.sessionEpoch;
  for (;;) {
    signal.throwIfAborted();
    if (zk.sessionEpoch !== epoch) throw new CliError(`Request ${id} is lost: the session with ZooKeeper expired`);
    const { wake, woken } = nextWakeUp(zk, signal);
    let request: RequestRecord | undefined;
    try {
      const { data, stat } = await orAbort(zk.getData(requestPath(id), wake), signal);
      request = decodeRequest(id, data, stat, clock.now());
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) throw new CliError(`Request ${id} was deleted by another process`);
      if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED')) throw error;
    }
    if (request) {
      onChange(request);
      if (request.state === 'fulfilled') return request;
      if (request.state === 'failed') throw failure(request);
    }
    await woken;
  }
}

function failure(request: RequestRecord): CliError {
  const reasons = Object.values(request.declineReasons).map(({ text }) => text);
  if (request.launchError !== null) reasons.push(request.launchError);
  const why =
    reasons.length > 0 ? [...new Set(reasons)].join('; ') : `all ${request.declinedBy.length} pools declined it`;
  return new CliError(`Request ${request.id} for ${labelsToText(request.labels)} failed: ${why}`);
}
