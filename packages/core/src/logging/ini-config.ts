import { parse } from 'ini';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { LoggingError } from '../contract/errors.js';

type Section = Readonly<Record<string, unknown>>;

/** Parameter names of positional `args`, by the last part of the handler class. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  StreamHandler: ['stream'],
  FileHandler: ['filename', 'mode'],
  WatchedFileHandler: ['filename', 'mode'],
  RotatingFileHandler: ['filename', 'mode', 'maxBytes', 'backupCount'],
  TimedRotatingFileHandler: ['filename', 'when', 'interval', 'backupCount'],
};

/**
 * Translates Python's ini style (`logging.config.fileConfig`) into the dict style.
 * @throws {LoggingError} a section named under `keys` is missing
 */
export function dictFromIni(text: string, origin: string): JsonObject {
  const sections = parse(text) as Record<string, unknown>;
  const section = (name: string): Section => {
    const found = sections[name];
    if (found !== null && typeof found === 'object') return found as Section;
    throw new LoggingError(`logging configuration ${origin}: the section [${name}] is missing`);
  };
  const keysOf = (name: string) => wordsOf(section(name)['keys']);
  const formatters = keysOf('formatters').map((key) => [key, pick(section(`formatter_${key}`), FORMATTER_KEYS)]);
  const handlers = keysOf('handlers').map((key) => [key, handlerOf(section(`handler_${key}`))]);
  const loggers = keysOf('loggers').map((key) => [key, section(`logger_${key}`)] as const);
  return {
    version: 1,
    formatters: Object.fromEntries(formatters) as JsonObject,
    handlers: Object.fromEntries(handlers) as JsonObject,
    root: loggerOf(section('logger_root')),
    loggers: Object.fromEntries(
      loggers
        .filter(([key]) => key !== 'root')
        .map(([key, found]) => [textOf(found['qualname']) ?? key, loggerOf(found)]),
    ),
  };
}

const FORMATTER_KEYS = ['format', 'datefmt', 'class', 'style'];

function handlerOf(section: Section): JsonObject {
  const className = textOf(section['class']) ?? '';
  const names = ARGUMENTS[className.split('.').at(-1) ?? ''] ?? [];
  const values = parseTuple(textOf(section['args']) ?? '');
  const named = names.flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]] as const]));
  return { ...pick(section, ['class', 'level', 'formatter']), ...Object.fromEntries(named) };
}

function loggerOf(section: Section): JsonObject {
  const propagate = textOf(section['propagate']) !== '0';
  return { ...pick(section, ['level']), handlers: wordsOf(section['handlers']), propagate };
}

/** Literals of a Python tuple such as `('/var/log/x', 'a', 100)`; names such as `sys.stdout` remain text. */
function parseTuple(text: string): Json[] {
  const literals = text.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d+)|([A-Za-z_][\w.]*)/g);
  return [...literals].map(([, single, double, digits, name]) =>
    digits === undefined ? (single ?? double ?? name ?? '').replace(/\\(.)/g, '$1') : Number(digits),
  );
}

/** Copies the keys that are present and not empty. */
function pick(section: Section, keys: readonly string[]): JsonObject {
  const found = keys.flatMap((key) => {
    const text = textOf(section[key]);
    return text === undefined || text === '' ? [] : [[key, text] as const];
  });
  return Object.fromEntries(found);
}

function wordsOf(value: unknown): string[] {
  return (textOf(value) ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // The ini parser converts `true` and `null`.
  return typeof value === 'boolean' || value === null ? String(value) : undefined;
}
