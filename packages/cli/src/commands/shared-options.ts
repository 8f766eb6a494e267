import type { PositionalOptions } from 'yargs';
import { flag, last, text, texts } from '../command/command.js';
import type { OptionDefinition, Values } from '../command/command.js';
import { parseDuration } from '../command/duration.js';
import { UsageError } from '../command/usage-error.js';
import type { ServerArguments } from '../connection/server.js';
import type { AcquireArguments } from '../lease/acquire-options.js';

/** Option of listings. */
export const DETAIL = { type: 'boolean', default: false, describe: 'show more columns' } as const;

/** Positional of commands for one node. */
export const NODE_ID = { type: 'string', demandOption: true, describe: 'id of the node' } as const;

/** Positional of commands for one image. */
export const IMAGE = { type: 'string', demandOption: true, describe: 'name of the image' } as const;

/** Positional of commands that take nodes. */
export const LABELS = {
  ...{ type: 'string', array: true, demandOption: true },
  describe: 'labels, one node each',
} as const satisfies PositionalOptions;

/** Option of commands that ask launchers. */
export const LAUNCHER_URL = {
  ...{ type: 'string', array: true, requiresArg: true, value: 'URL' },
  describe: "a launcher's web server",
} as const satisfies OptionDefinition;

/** Reads {@link LAUNCHER_URL}. @throws UsageError */
export function launcherUrls(urls: readonly string[]): readonly string[] {
  for (const url of urls) {
    if (!URL.canParse(url) || !/^https?:/.test(url)) throw new UsageError(`--url needs a form like http://nl01:8005`);
  }
  return urls;
}

/** Time limit with `--no-wait`: just enough to hand out ready nodes. */
const NO_WAIT_MS = 5000;
const PRIORITIES = { high: 100, normal: 200, low: 300 } as const;

/** Options of commands that work without ZooKeeper, through the web server of a launcher. */
export const SERVER_OPTIONS = {
  server: {
    ...{ type: 'string', requiresArg: true, value: 'URL' },
    describe: 'lease from this web server; default: NODEPOOL_SERVER, or a launcher of this computer',
  },
  'token-file': {
    ...{ type: 'string', requiresArg: true, value: 'FILE' },
    describe: 'file with the token for --server; default: NODEPOOL_TOKEN_FILE or NODEPOOL_TOKEN',
  },
  ca: {
    ...{ type: 'string', requiresArg: true, value: 'FILE' },
    describe: 'certificate of the authority that signed that of --server; default: NODEPOOL_CA',
  },
  insecure: {
    ...{ type: 'boolean', default: false },
    describe: 'send the token over plain HTTP to another computer, where others can read it on the way',
  },
} as const satisfies Record<string, OptionDefinition>;

/** Reads {@link SERVER_OPTIONS}. */
export function serverArguments(values: Values): ServerArguments {
  const [url, tokenFile, caFile] = [text(values, 'server'), text(values, 'token-file'), text(values, 'ca')];
  return { url, tokenFile, caFile, isInsecure: flag(values, 'insecure') };
}

/** Options shared by `request` and `run`. */
export const ACQUIRE_OPTIONS = {
  count: { type: 'number', default: 1, requiresArg: true, describe: 'number of nodes for each label' },
  provider: { type: 'string', requiresArg: true, value: 'NAME', describe: 'preferred provider' },
  priority: { choices: ['high', 'normal', 'low'], default: 'normal', describe: 'queue priority' },
  wait: { type: 'boolean', default: true, describe: 'give up unless nodes are ready' },
  timeout: {
    type: 'string',
    requiresArg: true,
    value: 'TIME',
    describe: 'give up after this time, e.g. 90s, 10m, 1h30m',
  },
  force: { type: 'boolean', default: false, describe: 'also request labels that no launcher offers' },
  quiet: { type: 'boolean', alias: 'q', default: false, describe: 'print nothing while waiting' },
  ...SERVER_OPTIONS,
  'ssh-key': {
    ...{ type: 'string', requiresArg: true, value: 'FILE' },
    describe: 'own public key for the certificates of --server; default: a new key for each lease',
  },
} as const satisfies Record<string, OptionDefinition>;

/** Option of commands that run something with nodes. */
export const HOLD_ON_FAILURE = {
  'hold-on-failure': {
    type: 'string',
    value: '[=TIME]',
    describe: 'hold the nodes when the command fails, for an hour or the time given, as in --hold-on-failure=4h',
  },
} as const satisfies Record<string, OptionDefinition>;

const DEFAULT_HOLD = '1h';

/** Reads {@link HOLD_ON_FAILURE}. @throws UsageError */
export function holdOnFailureMs(values: Values): number | undefined {
  const time = text(values, 'hold-on-failure');
  if (time === undefined) return undefined;
  const ms = parseDuration(time === '' ? DEFAULT_HOLD : time, '--hold-on-failure=');
  if (ms <= 0) throw new UsageError('--hold-on-failure needs a time above 0');
  return ms;
}

/** More would not fit into one record of ZooKeeper. */
const MOST_NODES = 10_000;

/** Reads {@link ACQUIRE_OPTIONS}. @throws UsageError */
export function acquireArguments(values: Values): AcquireArguments {
  const count = last(values, 'count') as number;
  if (!Number.isInteger(count) || count < 1) throw new UsageError('--count needs a whole number above 0');
  const labels = texts(values, 'labels');
  if (count * labels.length > MOST_NODES) throw new UsageError(`a request takes at most ${MOST_NODES} nodes`);
  const timeout = text(values, 'timeout');
  const waitMs = values['wait'] === false ? NO_WAIT_MS : undefined;
  return {
    labels: Array.from({ length: count }, () => labels).flat(),
    provider: text(values, 'provider'),
    priority: PRIORITIES[last(values, 'priority') as keyof typeof PRIORITIES],
    timeoutMs: timeout === undefined ? waitMs : parseDuration(timeout, '--timeout'),
    quiet: flag(values, 'quiet'),
    force: flag(values, 'force'),
    server: serverArguments(values),
    sshKeyFile: text(values, 'ssh-key'),
  };
}
