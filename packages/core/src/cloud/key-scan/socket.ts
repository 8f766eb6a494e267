import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import type { Clock } from '@nodepool/zk-protocol';

/** Options of a connection. */
export interface SocketTarget {
  address: string;
  port: number;
  timeoutMs: number;
  clock: Clock;
}

/**
 * Opens a TCP connection. The socket ignores later errors, so that they cannot end the process; add a listener to see them. An
 * abort destroys the socket at any time.
 */
export function openSocket(target: SocketTarget, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const socket = createConnection({ host: target.address, port: target.port, noDelay: true });
    const fail = (error: Error) => {
      cancel();
      socket.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal.reason as Error);
    const cancel = target.clock.setTimer(target.timeoutMs, () =>
      fail(new Error(`no TCP connection within ${target.timeoutMs} ms`)),
    );
    socket.on('error', fail);
    socket.once('close', () => signal.removeEventListener('abort', onAbort));
    socket.once('connect', () => {
      cancel();
      resolve(socket);
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
