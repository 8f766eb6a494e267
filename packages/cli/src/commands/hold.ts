import { leaseHolding } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import type { Values } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { fetchNodeRow } from '../connection/fetch-records.js';
import { personName } from '../connection/who-am-i.js';
import { NodeLockedError, changeNode } from '../nodes/change-node.js';
import { cancelHoldOrder, orderHold } from '../nodes/order-hold.js';
import { NODE_ID } from './shared-options.js';

function readTime(values: Values, option: 'for' | 'extend'): number | undefined {
  const time = text(values, option);
  if (time === undefined) return undefined;
  const ms = parseDuration(time, `--${option}`);
  if (ms <= 0) throw new UsageError(`--${option} needs a time above 0`);
  return ms;
}

function parse(values: Values): HoldArguments {
  const [forMs, extendMs] = [readTime(values, 'for'), readTime(values, 'extend')];
  const cancel = flag(values, 'cancel');
  if (cancel && ['for', 'extend', 'owner', 'reason'].some((option) => text(values, option) !== undefined))
    throw new UsageError('hold --cancel takes no other option');
  if (forMs !== undefined && extendMs !== undefined) throw new UsageError('hold takes either --for or --extend');
  const id = (text(values, 'id') ?? '') as NodeId;
  return { id, forMs, extendMs, owner: text(values, 'owner'), reason: text(values, 'reason'), cancel };
}

/** `nodepool hold`. */
export const command = defineCommand({
  positionals: { id: NODE_ID },
  options: {
    for: {
      type: 'string',
      requiresArg: true,
      value: 'TIME',
      describe: 'a launcher deletes the node after this time, e.g. 8h',
    },
    extend: { type: 'string', requiresArg: true, value: 'TIME', describe: 'extend the hold by this time' },
    reason: {
      type: 'string',
      requiresArg: true,
      mayBeEmpty: true,
      describe: 'reason, stored as the comment of the node',
    },
    cancel: { type: 'boolean', default: false, describe: 'cancel the order to hold a locked node' },
    owner: {
      type: 'string',
      requiresArg: true,
      value: 'NAME',
      describe: 'who holds the node; default with --reason or --for: the caller',
    },
  },
  parse,
  run: holdNode,
});

/** Arguments of `nodepool hold`. */
interface HoldArguments {
  readonly id: NodeId;
  /** A launcher deletes the node after this time from now. */
  readonly forMs: number | undefined;
  /** The end of a hold that has one moves by this time. */
  readonly extendMs: number | undefined;
  readonly owner: string | undefined;
  readonly reason: string | undefined;
  /** Cancel the order to hold a locked node. */
  readonly cancel: boolean;
}

/**
 * `nodepool hold`: keeps a node for a person. Owner, reason and end are the keys `comment` and `hold_expiration` of the
 * node, which Zuul writes for its own holds: every release of Nodepool keeps them, and every launcher ends such a hold.
 */
async function holdNode(context: CliContext, args: HoldArguments): Promise<void> {
  if (args.cancel) return cancelHoldOrder(context, args.id);
  await withZooKeeper(context, async (zk) => {
    const connected = { ...context, kept: { zk } };
    const row = await fetchNodeRow({ ...context, zk }, args.id);
    const lease = row && leaseHolding(row.node);
    if (lease !== undefined)
      throw new CliError(
        `Node ${args.id} is lent to lease ${lease}, and returned with it: its owner keeps it by renewing the lease`,
      );
    // a job uses its node for longer than the lock timeout
    if (row?.locked === true && row.node.state === 'in-use' && args.extendMs === undefined)
      return orderHold(connected, zk, row.node, args);
    try {
      const changed = await changeNode(connected, args.id, (node, nowMs) => holdChanges(node, args, nowMs));
      if (changed) await warnOfEarlierEnd(context, changed);
    } catch (error) {
      if (!(error instanceof NodeLockedError) || !row || args.extendMs !== undefined) throw error;
      await orderHold(connected, zk, row.node, args);
    }
  });
}

/** @throws CliError for an end that cannot be extended */
function holdChanges(node: NodeRecord, args: HoldArguments, nowMs: number): NodeFields {
  const comment = commentOf(node, args);
  if (args.extendMs !== undefined) return { ...comment, holdExpirationMs: extendedLimit(node, args.extendMs, nowMs) };
  const limit = args.forMs === undefined ? {} : { holdExpirationMs: wholeSeconds(args.forMs) };
  return { state: 'hold', ...comment, ...limit };
}

/** The time from the beginning of the hold to its new end; an end that has passed is taken to be now. */
function extendedLimit(node: NodeRecord, extendMs: number, nowMs: number): number {
  if (node.state !== 'hold') throw new CliError(`Node ${node.id} is ${node.state}, not held: hold it with --for`);
  const limitMs = node.holdExpirationMs ?? 0;
  if (limitMs <= 0) throw new CliError(`The hold of node ${node.id} has no end: give it one with --for`);
  return wholeSeconds(Math.max(limitMs, nowMs - node.stateTimeMs) + extendMs);
}

/** Records have whole seconds. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}

/** `OWNER: REASON`; a comment stays unless an owner or a reason is given. */
function commentOf(node: NodeRecord, { owner, reason, forMs }: HoldArguments): NodeFields {
  if (owner === undefined && reason === undefined && (forMs === undefined || node.comment !== null)) return {};
  const who = owner ?? personName();
  return { comment: reason === undefined ? who : `${who}: ${reason}` };
}

/** The configuration may end every hold sooner. */
async function warnOfEarlierEnd(context: CliContext, node: NodeRecord): Promise<void> {
  const most = (await loadIfPresent(context))?.maxHoldAgeMs ?? 0;
  if (most <= 0 || (node.holdExpirationMs ?? 0) <= most) return;
  const end = new Date(node.stateTimeMs + most).toISOString();
  inform(`nodepool: max-hold-age of the configuration ends the hold of node ${node.id} sooner, ${end}`);
}
