import { defineCommand, text, texts } from '../command/command.js';
import type { Values } from '../command/command.js';
import type { ExplainArguments } from '../explain/explain-request.js';
import { UsageError } from '../command/usage-error.js';
import { launcherUrls, LAUNCHER_URL } from './shared-options.js';

function parse(values: Values): ExplainArguments {
  const requestId = text(values, 'request');
  const labels = texts(values, 'label');
  const urls = launcherUrls(texts(values, 'url'));
  if (requestId !== undefined && labels.length === 0) return { subject: { requestId }, urls };
  if (requestId === undefined && labels.length > 0) return { subject: { labels }, urls };
  throw new UsageError('explain needs either the id of a request or --label, once for each node');
}

/** `nodepool explain`. */
export const explainCommand = defineCommand({
  name: 'explain',
  usage: '[request]',
  summary: 'say why a request waits, or what would become of labels',
  positionals: { request: { type: 'string', describe: 'id of the request' } },
  options: {
    label: {
      type: 'string',
      array: true,
      requiresArg: true,
      value: 'NAME',
      describe: 'a label that no request has asked for yet',
    },
    url: LAUNCHER_URL,
  },
  parse,
  run: async (context, args) => (await import('../explain/explain-request.js')).explain(context, args),
});
