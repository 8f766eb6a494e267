import { access } from 'node:fs/promises';
import { delay } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { forOutput } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { GrowingFile } from '../logs/growing-file.js';
import { readJournal } from '../logs/journal.js';
import { LineFilter } from '../logs/line-filter.js';
import { Interrupts } from '../terminal/interrupts.js';
import { showLog } from './image-log.js';

const id = (describe: string) => ({ type: 'string', requiresArg: true, value: 'ID', describe }) as const;

/** Logs contain full ids. @throws UsageError */
function checkId(option: string, given: string | undefined, form: RegExp, example: string): void {
  if (given !== undefined && !form.test(given))
    throw new UsageError(`--${option} needs an id such as ${example}, got "${given}"`);
}

/** `nodepool logs`. */
export const command = defineCommand({
  options: {
    node: id('a node'),
    request: id('a request'),
    build: id('a build, or the name of an image for its newest build'),
    follow: { type: 'boolean', alias: 'f', default: false, describe: 'follow the log as it grows' },
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
    if (build !== undefined) await showLog(context, { name: build, follow });
    else await showLogs(context, { id: subject, file, follow });
  },
});

/** Log of a launcher that runs as a daemon. */
const DEFAULT_FILE = '/var/log/nodepool/nodepool.log';
const LOOK_MS = 300;

/** Which log lines to show. */
interface LogsArguments {
  /** A node or a request. */
  readonly id: string;
  /** `undefined`: the launcher's usual file, or the journal. */
  readonly file: string | undefined;
  readonly follow: boolean;
}

/** `nodepool logs`: log lines of a launcher of this machine about a node or request. @throws CliError nothing */
async function showLogs(context: CliContext, { id, file, follow }: LogsArguments): Promise<void> {
  const interrupts = new Interrupts();
  const filter = new LineFilter(id, (text) => process.stdout.write(forOutput(text)));
  const { signal } = interrupts;
  let place = 'the journal of nodepool-launcher';
  try {
    const path = file ?? ((await isAbsent(DEFAULT_FILE)) ? undefined : DEFAULT_FILE);
    if (path !== undefined) place = path;
    if (path !== undefined) await readFile(context, new GrowingFile(path), { filter, follow, signal });
    else await fromJournal({ filter, follow, signal });
  } finally {
    interrupts.dispose();
  }
  filter.end();
  if (filter.count > 0 || signal.aborted) return;
  const text = `No line of ${place} names ${id}: it is older than this log, or a launcher of another machine had it; --file names another log`;
  throw new CliError(text);
}

interface Reading {
  readonly filter: LineFilter;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

async function readFile({ clock }: CliContext, log: GrowingFile, { filter, follow, signal }: Reading): Promise<void> {
  try {
    do {
      await log.read((text) => filter.push(text));
      if (follow) await delay(clock, LOOK_MS, signal).catch(() => undefined); // a signal ends the loop
    } while (follow && !signal.aborted);
  } catch (error) {
    throw new CliError(`Cannot read the log ${log.file}: ${describeError(error)}`, { cause: error });
  } finally {
    await log.close();
  }
}

async function fromJournal({ filter, follow, signal }: Reading): Promise<void> {
  try {
    await readJournal(follow, (text) => filter.push(text), signal);
  } catch (error) {
    const where = `${DEFAULT_FILE} does not exist, and the journal cannot be read`;
    throw new CliError(`No log of a launcher is found: ${where}. Name it with --file. ${describeError(error)}`, {
      cause: error,
    });
  }
}

/** A file that exists but cannot be read is not absent: reading it reports why. */
async function isAbsent(file: string): Promise<boolean> {
  return access(file).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT' || error.code === 'ENOTDIR',
  );
}
