import type { NodeId } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { NODE_ID } from './shared-options.js';

/** `nodepool hold`. */
export const holdCommand = defineCommand({
  name: 'hold',
  usage: '<id>',
  summary: 'keep a node for a person',
  positionals: { id: NODE_ID },
  parse: (values) => ({ id: text(values, 'id') ?? '' }),
  async run(context, { id }) {
    const { changeNodeState } = await import('../nodes/change-node.js');
    await changeNodeState(context, id as NodeId, 'hold');
  },
});
