import type { Clock } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import type { AcquireArguments } from '../lease/acquire-options.js';
import { describeNodes, leaseText } from '../lease/describe-lease.js';
import type { Lease } from '../lease/lease.js';
import { withLease } from '../lease/with-lease.js';
import type { Interrupts } from '../terminal/interrupts.js';
import { printValue } from '../terminal/output.js';
import { ACQUIRE_OPTIONS, LABELS, acquireArguments } from './shared-options.js';

/** `nodepool request`. */
export const command = defineCommand({
  positionals: { labels: LABELS },
  options: {
    ...ACQUIRE_OPTIONS,
    'hold-for': { type: 'string', requiresArg: true, value: 'TIME', describe: 'return the nodes after this time' },
  },
  takesLabels: true,
  parse(values) {
    const holdFor = text(values, 'hold-for');
    const holdForMs = holdFor === undefined ? undefined : parseDuration(holdFor, '--hold-for');
    return { holdForMs, ...acquireArguments(values) };
  },
  run: request,
});

/** Why a lease ended. */
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
async function request(
  context: CliContext,
  options: AcquireArguments & { holdForMs: number | undefined },
): Promise<void> {
  const onUnreturned = (error: unknown) => {
    throw error;
  };
  const acquire = { ...options, purpose: 'nodepool request' };
  await withLease(context, acquire, onUnreturned, async (lease, interrupts) => {
    showLease(context, lease);
    const { holdForMs, quiet } = options;
    const until = holdForMs === undefined ? 'until Ctrl-C' : `for ${holdForMs / 1000} s or until Ctrl-C`;
    if (!quiet) inform(`The nodes are yours ${until}`);
    const end = await holdNodes(context.clock, lease, interrupts, holdForMs);
    if (end === 'lost') throw lease.lost.reason;
    if (!quiet) inform('Returning the nodes');
  });
}
