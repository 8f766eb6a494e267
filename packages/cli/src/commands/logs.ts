import { defineCommand, flag, text } from '../command/command.js';
import { UsageError } from '../command/usage-error.js';

const id = (describe: string) => ({ type: 'string', requiresArg: true, value: 'ID', describe }) as const;

/** A log has ids in full. @throws UsageError */
function checkId(option: string, given: string | undefined, form: RegExp, example: string): void {
  if (given !== undefined && !form.test(given))
    throw new UsageError(`--${option} needs an id such as ${example}, got "${given}"`);
}

/** `nodepool logs`. */
export const logsCommand = defineCommand({
  name: 'logs',
  summary: 'show what the log of this machine says about a node, a request or a build',
  options: {
    node: id('a node'),
    request: id('a request'),
    build: id('a build, or the name of an image for its newest build'),
    follow: { type: 'boolean', alias: 'f', default: false, describe: 'go on as lines are added' },
    file: {
      ...{ type: 'string', requiresArg: true, value: 'FILE' },
      describe: "log of the launcher [/var/log/nodepool/nodepool.log, else the unit's journal]",
    },
  },
  parse(values) {
    const [node, request, build] = [text(values, 'node'), text(values, 'request'), text(values, 'build')];
    if ([node, request, build].filter((given) => given !== undefined).length !== 1)
      throw new UsageError('logs needs one of --node, --request and --build');
    checkId('node', node, /^\d{10}$/, '0000000042');
    checkId('request', request, /^\d{3}-\d{10}$/, '200-0000000042');
    const common = { follow: flag(values, 'follow'), file: text(values, 'file') };
    return { ...common, build, id: node ?? request ?? '' };
  },
  async run(context, { build, id: subject, file, follow }) {
    if (build !== undefined) await (await import('../images/show-log.js')).showLog(context, { name: build, follow });
    else await (await import('../logs/show-logs.js')).showLogs(context, { id: subject, file, follow });
  },
});
