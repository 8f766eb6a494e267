import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';

const ANSWER_MS = 2_000;
/** Answer of a ZooKeeper server that does not serve; the embedded one adds the cause. */
const NOT_SERVING = /^This ZooKeeper instance is not currently serving requests\n(.+)/;

/** Why the embedded server behind this Unix socket does not serve; `undefined`: it serves, or does not answer. */
export async function whyNotServing(path: string): Promise<string | undefined> {
  const socket = createConnection({ path });
  const cancel = AbortSignal.timeout(ANSWER_MS);
  cancel.addEventListener('abort', () => socket.destroy());
  try {
    socket.write('srvr');
    return NOT_SERVING.exec(await text(socket))?.[1];
  } catch {
    return undefined; // no server, or one that hangs: the connection error is all there is
  } finally {
    socket.destroy();
  }
}
