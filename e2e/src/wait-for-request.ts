import { isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';
import { parseBody, requestPath, type RequestBody } from './zuul-records.js';

/** A request vanished while it was waited for. */
export class RequestGoneError extends Error {}

/** Waits by a data watch until a request satisfies a condition. @throws {RequestGoneError} */
export async function waitForRequest(
  zk: ZooKeeper,
  id: string,
  condition: (request: RequestBody) => boolean,
  timeoutMs: number,
): Promise<RequestBody> {
  const deadline = Date.now() + timeoutMs;
  let last = 'never seen';
  while (Date.now() < deadline) {
    const next = nextChange(zk, deadline - Date.now());
    try {
      const { data } = await zk.getData(requestPath(id), next.wake);
      const body = parseBody<RequestBody>(data);
      if (condition(body)) return body;
      last = body.state;
      await next.changed;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) throw new RequestGoneError(`request ${id} is gone`);
      if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) throw error;
      await zk.whenConnected();
    } finally {
      next.cancel();
    }
  }
  throw new Error(`request ${id} did not get there within ${timeoutMs} ms; last state: ${last}`);
}

function nextChange(
  zk: ZooKeeper,
  timeoutMs: number,
): { wake: () => void; changed: Promise<void>; cancel: () => void } {
  let wake = (): void => undefined;
  const changed = new Promise<void>((resolve) => (wake = resolve));
  // a one-shot watch may be lost with the connection: look again whenever the state changes
  const unsubscribe = zk.onState(() => wake());
  const timer = setTimeout(() => wake(), timeoutMs);
  const cancel = (): void => {
    unsubscribe();
    clearTimeout(timer);
  };
  return { wake: () => wake(), changed, cancel };
}
