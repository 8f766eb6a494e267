import { defineCommand, last, text, texts } from '../command/command.js';
import { parseMoment } from '../command/moment.js';
import { UsageError } from '../command/usage-error.js';

/** `nodepool replay`. */
export const replayCommand = defineCommand({
  name: 'replay',
  summary: 'run the recorded requests against the configuration named by -c, and compare waits, use and failures',
  options: {
    since: { type: 'string', default: '24h', requiresArg: true, value: 'TIME', describe: 'where it begins: 24h ago' },
    until: { type: 'string', default: '0s', requiresArg: true, value: 'TIME', describe: 'where it ends' },
    from: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'DIR|URL' },
      describe: 'folder with the history of a launcher, or its web server [all that are registered]',
    },
    also: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'FILE' },
      describe: 'configuration of another launcher that serves requests, too',
    },
    'leave-out': {
      ...{ type: 'string', array: true, requiresArg: true, value: 'LABEL' },
      describe: 'label whose requests are not asked for again',
    },
    seed: { type: 'number', default: 1, requiresArg: true, describe: 'what is left to chance comes from it' },
  },
  reads: true,
  parse(values) {
    if (text(values, 'c') === undefined) throw new UsageError('replay needs a configuration: nodepool replay -c FILE');
    const seed = last(values, 'seed') as number;
    if (!Number.isInteger(seed)) throw new UsageError('--seed needs a whole number');
    return {
      since: parseMoment(text(values, 'since') ?? '', '--since'),
      until: parseMoment(text(values, 'until') ?? '', '--until'),
      sources: texts(values, 'from'),
      also: texts(values, 'also'),
      leaveOut: texts(values, 'leave-out'),
      seed,
    };
  },
  run: async (context, args) => (await import('../replay/show-replay.js')).showReplay(context, args),
});
