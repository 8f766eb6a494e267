import { defineCommand, flag } from '../command/command.js';

/** `nodepool move-to-ensemble`. */
export const moveToEnsembleCommand = defineCommand({
  name: 'move-to-ensemble',
  summary: 'copy the database of the embedded ZooKeeper to the zookeeper-servers of the configuration, for good',
  options: {
    undo: { type: 'boolean', default: false, describe: 'use the embedded database again' },
    yes: { type: 'boolean', default: false, describe: 'with --undo: do not ask' },
    force: {
      type: 'boolean',
      default: false,
      describe: 'with --undo: do not ask, even if services use the ensemble or it cannot be reached',
    },
  },
  parse: (values) => ({ undo: flag(values, 'undo'), yes: flag(values, 'yes'), force: flag(values, 'force') }),
  run: async (context, args) => (await import('../move/move-to-ensemble.js')).moveToEnsemble(context, args),
});
