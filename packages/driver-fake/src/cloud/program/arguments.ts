import { parseArgs } from 'node:util';
import type { Json } from '@nodepool/zk-protocol';
import { defaultCloudDir } from '../client/address.js';

/** The command line is invalid. */
export class UsageError extends Error {}

/** What `--help` prints. */
export const USAGE = `Usage: nodepool-fake-cloud [--cloud NAME | --dir DIR] [--listen HOST:PORT] COMMAND

Shows and changes a running fake cloud on this machine.

  show                   settings, usage, and instances by status
  list                   all instances, one line of JSON each
  set SETTING VALUE      e.g. "set failures.quota 0.2", "set quota.instances -1", "set create-time '{\\"uniform\\": [1, 3]}'"
  reset SETTING          restores the default
  kill ID                removes an instance at once
  break ID               sets the status of an instance to "error"
  hide ID [SECONDS]      hides an instance for a time
  leak [TAG=VALUE ...]   adds an instance without a launcher
  stop                   stops the server; its instances survive
  serve                  runs the server in the foreground

Options:
  --cloud NAME           cloud as named in the configuration (default "fake")
  --dir DIR              its directory, if "state-dir" is configured
  --listen HOST:PORT     loopback address, if "listen" is configured
  --idle-timeout SECONDS serve: stop after this time without clients (default: never)`;

/** Location of the cloud. */
interface Place {
  readonly dir: string;
  readonly listen: string | undefined;
}

/** Runs the server. */
export interface ServeCommand extends Place {
  readonly name: 'serve';
  readonly idleTimeoutMs: number | undefined;
}

/** Calls the running server. */
export type ControlCommand = Place &
  (
    | { readonly name: 'show' | 'list' | 'stop' }
    | { readonly name: 'set'; readonly path: string; readonly value: Json }
    | { readonly name: 'kill' | 'break'; readonly id: string }
    | { readonly name: 'hide'; readonly id: string; readonly forMs: number | undefined }
    | { readonly name: 'leak'; readonly metadata: Readonly<Record<string, string>> }
  );

/**
 * Reads the command line.
 * @throws {UsageError} it is invalid
 */
export function parseCommand(args: readonly string[]): ServeCommand | ControlCommand | { readonly name: 'help' } {
  const { values, positionals } = parse(args);
  const [name, ...rest] = positionals;
  if (values.help || name === undefined) return { name: 'help' };
  const place: Place = { dir: values.dir ?? defaultCloudDir(values.cloud ?? 'fake'), listen: values.listen };
  switch (name) {
    case 'serve':
      expectCount(name, rest, 0, 0);
      return { ...place, name, idleTimeoutMs: secondsOf(values['idle-timeout']) };
    case 'show':
    case 'list':
    case 'stop':
      expectCount(name, rest, 0, 0);
      return { ...place, name };
    case 'set':
      expectCount(name, rest, 2, 2);
      return { ...place, name, path: rest[0] ?? '', value: readValue(rest[1] ?? '') };
    case 'reset':
      expectCount(name, rest, 1, 1);
      return { ...place, name: 'set', path: rest[0] ?? '', value: null };
    case 'kill':
    case 'break':
      expectCount(name, rest, 1, 1);
      return { ...place, name, id: rest[0] ?? '' };
    case 'hide':
      expectCount(name, rest, 1, 2);
      return { ...place, name, id: rest[0] ?? '', forMs: secondsOf(rest[1]) };
    case 'leak':
      return { ...place, name, metadata: Object.fromEntries(rest.map(readTag)) };
    default:
      throw new UsageError(`there is no command "${name}"`);
  }
}

/** Whether an argument is a negative number and not the value of an option. */
function isNegative(arg: string, before = ''): boolean {
  return /^-\.?\d/.test(arg) && !/^--[^=]+$/.test(before);
}

/** Prefix that keeps `parseArgs` from reading a negative number as an option; it cannot be typed. */
const MARK = '\0';

function parse(args: readonly string[]) {
  try {
    const parsed = parseArgs({
      args: args.map((arg, index) => (isNegative(arg, args[index - 1]) ? MARK + arg : arg)),
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        cloud: { type: 'string' },
        dir: { type: 'string' },
        listen: { type: 'string' },
        'idle-timeout': { type: 'string' },
      },
    });
    return { ...parsed, positionals: parsed.positionals.map((text) => (text.startsWith(MARK) ? text.slice(1) : text)) };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function expectCount(name: string, rest: readonly string[], least: number, most: number): void {
  if (rest.length < least) throw new UsageError(`"${name}" needs ${least - rest.length} more argument(s)`);
  if (rest.length > most) throw new UsageError(`"${name}" does not take "${rest[most]}"`);
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (text.trim() === '' || !(seconds >= 0)) throw new UsageError(`"${text}" is not a number of seconds`);
  return seconds * 1000;
}

/** JSON if it parses, else the string itself. */
function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // a word such as per-instance
  }
}

function readTag(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw new UsageError(`"${text}" is not a tag: write NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}
