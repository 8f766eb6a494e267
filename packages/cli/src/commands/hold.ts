import type { NodeId } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import type { Values } from '../command/command.js';
import { parseDuration } from '../command/duration.js';
import { UsageError } from '../command/usage-error.js';
import type { HoldArguments } from '../nodes/hold-node.js';
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
export const holdCommand = defineCommand({
  name: 'hold',
  usage: '<id>',
  summary: 'keep a node for a person; one that is locked when its use is over',
  positionals: { id: NODE_ID },
  options: {
    for: {
      type: 'string',
      requiresArg: true,
      value: 'TIME',
      describe: 'a launcher deletes the node after this time, e.g. 8h',
    },
    extend: { type: 'string', requiresArg: true, value: 'TIME', describe: 'move the end of a hold by this time' },
    reason: { type: 'string', requiresArg: true, mayBeEmpty: true, describe: 'why; kept as the comment of the node' },
    cancel: { type: 'boolean', default: false, describe: 'take back the order to hold a node that is locked' },
    owner: {
      type: 'string',
      requiresArg: true,
      value: 'NAME',
      describe: 'who holds the node; default: who calls, with --reason or --for',
    },
  },
  parse,
  run: async (context, args) => (await import('../nodes/hold-node.js')).holdNode(context, args),
});
