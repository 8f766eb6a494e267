import { resolve } from 'node:path';
import { parseDuration } from './duration.js';
import type { OptionDefinition, Values } from './values.js';
import { UsageError } from './usage-error.js';
import { flag, last, text } from './values.js';

/** Output formats. */
export const FORMATS = ['table', 'json', 'yaml', 'csv'] as const;
/** One of {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];

/** Options every command takes. */
export interface GlobalOptions {
  readonly configFile: string;
  /** Whether the configuration file was named; the default one may be missing. */
  readonly configFileNamed: boolean;
  readonly secureFile: string | undefined;
  /** Where to look for an embedded server; default the usual places. */
  readonly stateDir: string | undefined;
  readonly format: Format;
  /** Fields to show, by their JSON names; `undefined` shows those of the listing. */
  readonly fields: ReadonlySet<string> | undefined;
  /** Tables have headers and rules. */
  readonly headers: boolean;
  /** Interval of repeated listings; `undefined` lists once. */
  readonly watchMs: number | undefined;
  /** An unknown id ends with status 1. */
  readonly strict: boolean;
  readonly connectTimeoutMs: number;
}

/** How the command line wants things logged. */
export interface LogOptions {
  readonly logConfigFile: string | undefined;
  readonly debug: boolean;
}

/** The default configuration file. */
export const DEFAULT_CONFIG = '/etc/nodepool/nodepool.yaml';
const DEFAULT_CONNECT_TIMEOUT = '10s';
const DEFAULT_WATCH = '2s';
/** Commands wait for several times as long, and Node.js limits a time limit to 24 days. */
const LONGEST_CONNECT_MS = 86_400_000;
/** A shorter interval would overload ZooKeeper. */
const SHORTEST_WATCH_MS = 100;

/** Definitions of the options of every command. */
export const GLOBAL_OPTIONS = {
  c: { type: 'string', requiresArg: true, value: 'FILE', describe: `configuration file [${DEFAULT_CONFIG}]` },
  s: { type: 'string', requiresArg: true, value: 'FILE', describe: 'secure file' },
  l: { type: 'string', requiresArg: true, value: 'FILE', describe: 'logging configuration' },
  debug: { type: 'boolean', default: false, describe: 'log everything, with stack traces of errors' },
  format: { choices: FORMATS, default: 'table', describe: 'output format; csv is for listings' },
  json: { type: 'boolean', default: false, describe: 'same as --format json' },
  strict: {
    type: 'boolean',
    default: false,
    describe: 'exit with status 1 for an unknown id, and for warnings of config-validate',
  },
  'state-dir': {
    type: 'string',
    requiresArg: true,
    value: 'DIR',
    describe: "state directory of the launcher's embedded ZooKeeper",
  },
  'connect-timeout': {
    type: 'string',
    default: DEFAULT_CONNECT_TIMEOUT,
    requiresArg: true,
    value: 'TIME',
    describe: 'how long to wait for ZooKeeper, or for --server',
  },
} as const satisfies Record<string, OptionDefinition>;

/** {@link GLOBAL_OPTIONS} with those that the program handles itself, for help and completion. */
export const GENERAL_OPTIONS = {
  ...GLOBAL_OPTIONS,
  version: { type: 'boolean', describe: 'show the version' },
  help: { type: 'boolean', alias: 'h', describe: 'show help' },
} as const satisfies Record<string, OptionDefinition>;

/** Definitions of the further options of listings. */
export const READING_OPTIONS = {
  fields: {
    type: 'string',
    requiresArg: true,
    value: 'A,B',
    describe: 'fields to show, by their JSON names, e.g. id,state',
  },
  headers: { type: 'boolean', default: true, describe: 'print tables without header and rules' },
  watch: {
    type: 'string',
    value: '[TIME]',
    describe: `repeat every ${DEFAULT_WATCH}, or at the given interval, until Ctrl-C`,
  },
} as const satisfies Record<string, OptionDefinition>;

/** @throws UsageError */
export function globalOptions(values: Values): GlobalOptions {
  const configFile = text(values, 'c');
  const stateDir = text(values, 'state-dir');
  return {
    configFile: configFile ?? DEFAULT_CONFIG,
    configFileNamed: configFile !== undefined,
    secureFile: text(values, 's'),
    stateDir: stateDir === undefined ? undefined : resolve(stateDir),
    format: flag(values, 'json') ? 'json' : (last(values, 'format') as Format),
    fields: readFields(text(values, 'fields')),
    headers: values['headers'] !== false,
    watchMs: readWatch(text(values, 'watch')),
    strict: flag(values, 'strict'),
    connectTimeoutMs: readConnectTimeout(text(values, 'connect-timeout') ?? DEFAULT_CONNECT_TIMEOUT),
  };
}

function readFields(list: string | undefined): ReadonlySet<string> | undefined {
  if (list === undefined) return undefined;
  const fields = list.split(',').map((field) => field.trim());
  if (fields.some((field) => field === '')) throw new UsageError('--fields needs comma-separated names, e.g. id,state');
  return new Set(fields);
}

function readConnectTimeout(time: string): number {
  const ms = parseDuration(time, '--connect-timeout');
  if (ms > LONGEST_CONNECT_MS) throw new UsageError('--connect-timeout takes at most 1d');
  return ms;
}

function readWatch(time: string | undefined): number | undefined {
  if (time === undefined) return undefined;
  const ms = parseDuration(time === '' ? DEFAULT_WATCH : time, '--watch');
  if (ms < SHORTEST_WATCH_MS) throw new UsageError(`--watch needs at least ${SHORTEST_WATCH_MS / 1000}s`);
  return ms;
}
