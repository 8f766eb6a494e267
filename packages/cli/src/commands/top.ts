import { defineCommand, text, texts } from '../command/command.js';
import { parseDuration } from '../command/duration.js';
import { launcherUrls, LAUNCHER_URL } from './shared-options.js';

/** `nodepool top`. */
export const topCommand = defineCommand({
  name: 'top',
  summary: 'show live what waits, what is launched, what is used and what fails; q leaves',
  options: {
    every: { type: 'string', requiresArg: true, value: 'TIME', default: '2s', describe: 'time between two looks' },
    url: LAUNCHER_URL,
  },
  parse: (values) => ({
    everyMs: parseDuration(text(values, 'every') ?? '2s', '--every'),
    urls: launcherUrls(texts(values, 'url')),
  }),
  run: async (context, args) => (await import('../top/show-top.js')).showTop(context, args),
});
