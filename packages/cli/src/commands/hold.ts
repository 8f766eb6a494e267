import type { NodeId } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
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
  if (forMs !== undefined && extendMs !== undefined) throw new UsageError('hold takes either --for or --extend');
  const id = (text(values, 'id') ?? '') as NodeId;
  return { id, forMs, extendMs, owner: text(values, 'owner'), reason: text(values, 'reason') };
}

/** `nodepool hold`. */
export const holdCommand = defineCommand({
  name: 'hold',
  usage: '<id>',
  summary: 'keep a node for a person',
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
