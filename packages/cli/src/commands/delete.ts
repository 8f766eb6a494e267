import type { NodeId } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { NODE_ID } from './shared-options.js';

/** `nodepool delete`. */
export const deleteCommand = defineCommand({
  name: 'delete',
  usage: '<id>',
  summary: 'delete a node',
  positionals: { id: NODE_ID },
  parse: (values) => ({ id: text(values, 'id') ?? '' }),
  async run(context, { id }) {
    const { changeNodeState } = await import('../nodes/change-node.js');
    await changeNodeState(context, id as NodeId, 'deleting');
  },
});
