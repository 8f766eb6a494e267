import type { Clock } from '@nodepool/zk-protocol';
import { print, tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printValue } from '../terminal/output.js';
import { CliError } from '../command/errors.js';
import type { Interrupts } from '../terminal/interrupts.js';
import { describeNodes, leaseText } from './describe-lease.js';
import type { AcquireOptions } from './acquire.js';
import type { Lease } from './lease.js';
import { withLease } from './with-lease.js';

/** How a lease held by hand ended. */
type HoldEnd = 'interrupted' | 'time is up' | 'lost';

async function holdNodes(
  clock: Clock,
  lease: Lease,
  interrupts: Interrupts,
  holdForMs: number | undefined,
): Promise<HoldEnd> {
  let cancelTimer = () => {};
  const end = await new Promise<HoldEnd>((resolve) => {
    const endOn = (signal: AbortSignal, reason: HoldEnd) => {
      if (signal.aborted) resolve(reason);
      else signal.addEventListener('abort', () => resolve(reason), { once: true });
    };
    endOn(interrupts.signal, 'interrupted');
    endOn(lease.lost, 'lost');
    if (holdForMs !== undefined) cancelTimer = clock.setTimer(holdForMs, () => resolve('time is up'));
  });
  cancelTimer();
  return end;
}

function showLease(context: CliContext, lease: Lease): void {
  if (context.options.format !== 'table')
    printValue(context, { request: lease.requestId, nodes: describeNodes(lease.nodes) });
  else print(leaseText(lease.nodes));
}

/** `nodepool request`: takes nodes, shows how to reach them, and keeps them until Ctrl-C or the time is up. */
export async function request(
  context: CliContext,
  options: Omit<AcquireOptions, 'purpose'> & { holdForMs: number | undefined },
): Promise<void> {
  const onUnreturned = (error: unknown) => {
    throw error;
  };
  const acquire = { ...options, purpose: 'nodepool request' };
  await withLease(context, acquire, onUnreturned, async (lease, interrupts) => {
    showLease(context, lease);
    const { holdForMs, quiet } = options;
    const until = holdForMs === undefined ? 'until Ctrl-C' : `for ${holdForMs / 1000} s or until Ctrl-C`;
    if (!quiet) tell(`The nodes are yours ${until}`);
    const end = await holdNodes(context.clock, lease, interrupts, holdForMs);
    if (end === 'lost')
      throw new CliError('The nodes are no longer yours: their locks or the session with ZooKeeper are gone');
    if (!quiet) tell('Returning the nodes');
  });
}
