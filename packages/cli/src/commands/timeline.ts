import { defineCommand, flag, text, texts } from '../command/command.js';
import { launcherUrls, LAUNCHER_URL } from './shared-options.js';

/** `nodepool timeline`. */
export const timelineCommand = defineCommand({
  name: 'timeline',
  usage: '<id>',
  summary: 'say what a request waited for, or which states a node was in, also after it is gone',
  positionals: { id: { type: 'string', demandOption: true, describe: 'id of a request or node' } },
  options: {
    detail: { type: 'boolean', default: false, describe: 'with everything that was decided and happened' },
    url: LAUNCHER_URL,
  },
  parse: (values) => ({
    id: text(values, 'id') ?? '',
    detail: flag(values, 'detail'),
    urls: launcherUrls(texts(values, 'url')),
  }),
  run: async (context, args) => (await import('../explain/show-timeline.js')).showTimeline(context, args),
});
