import type { NodeId } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { NODE_ID } from './shared-options.js';

/** `nodepool delete`. */
export const deleteCommand = defineCommand({
  name: 'delete',
  usage: '<id>',
  summary: 'delete a node',
  positionals: { id: NODE_ID },
  options: {
    now: { type: 'boolean', default: false, describe: 'delete it here, with the provider of this configuration' },
  },
  parse: (values) => ({ id: (text(values, 'id') ?? '') as NodeId, now: flag(values, 'now') }),
  async run(context, { id, now }) {
    if (now) return (await import('../nodes/delete-now.js')).deleteNow(context, id);
    const { changeNode } = await import('../nodes/change-node.js');
    await changeNode(context, id, () => ({ state: 'deleting' }));
    return undefined;
  },
});
