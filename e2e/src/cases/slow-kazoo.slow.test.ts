import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();
const SCRIPT = fileURLToPath(new URL('../../python/slow_locker.py', import.meta.url));

beforeAll(() => ensureDebianPackages(['python3-kazoo']));

/** Starts a kazoo client that has ensured the lock directory of a request but has not added its entry. */
async function beginLocking(requestId: string): Promise<() => Promise<string>> {
  const { connectString } = get().zookeeper;
  const args = [SCRIPT, '--hosts', connectString, `/nodepool/requests-lock/${requestId}`];
  const child = spawn('/usr/bin/python3', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: AsyncIterator<string, undefined> = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.value !== 'ensured') throw new Error(`the client said ${String(first.value)}`);
  return async () => {
    const exited = once(child, 'exit');
    child.stdin.end('\n');
    const { value } = await lines.next();
    await exited;
    return String(value);
  };
}

describe('a kazoo client delayed between the two steps of locking a request', () => {
  it('finds the lock directory although the request was fulfilled and deleted meanwhile', async () => {
    const zuul = await get().newClient();
    const ids = [await zuul.submit(['small']), await zuul.submit(['small'])];
    const goOn = await Promise.all(ids.map(beginLocking));
    await get().launch(oneProvider({ maxServers: 4 }));
    await Promise.all(ids.map((id) => zuul.wait(id)));

    // A request just fulfilled may still be locked for a moment; clients that revise priorities ignore that.
    expect(await goOn[0]?.()).toMatch(/^(not free|locked)$/);
    await Promise.all(ids.map((id) => zuul.finish(id)));
    expect(await goOn[1]?.()).toMatch(/^(not free|locked)$/);
    await get().assertClean();
  });

  it('finds the lock directory although the request was declined meanwhile', async () => {
    const zuul = await get().newClient();
    await get().launch(oneProvider({ maxServers: 4 }));
    const [id, other] = [
      await zuul.submit(['small', 'small', 'small', 'small', 'small']),
      await zuul.submit(['small']),
    ];
    const goOn = await beginLocking(id);
    await zuul.finish(other);
    await zuul.wait(id);

    expect(await goOn()).toBe('locked');
    await zuul.cancel(id);
  });
});
