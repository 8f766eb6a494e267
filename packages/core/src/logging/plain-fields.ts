import { format, type Logform } from 'winston';

const SECRET_KEY =
  /pass(?:word|wd|phrase)|(?:^|[_-])pass$|token$|secret|key[_-]?data|private[_-]?key|authorization|credential/i;

/** Replacement of secrets. */
const REDACTED = '[redacted]';

/** Plain-data form of an error. */
export interface ErrorFacts {
  readonly message: string;
  readonly code?: string;
  readonly cause?: unknown;
  readonly stack?: string | undefined;
}

/**
 * The format of every logger, applied before any transport: omits fields without a value, redacts secrets at any depth, and
 * converts errors and other objects to plain data.
 * @param withStacks - whether errors keep their stacks, as at debug level
 */
export function plainFields(withStacks: boolean): Logform.Format {
  return format((info) => {
    for (const key in info) {
      const value: unknown = info[key];
      if (typeof value === 'string' && (secrecy.get(key) ?? isSecretKey(key)) === false) continue;
      if (value === undefined || value === null) delete info[key];
      else info[key] = isSecretKey(key) && value !== '' ? REDACTED : plain(key, value, withStacks);
    }
    return info;
  })();
}

function plain(key: string, value: unknown, withStacks: boolean): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value;
  if (value instanceof Error) return key === 'error' ? errorFacts(value, withStacks) : errorSummary(value);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  try {
    return JSON.parse(JSON.stringify(value, redactor) ?? 'null');
  } catch (error) {
    return `[not shown: ${error instanceof Error ? error.message : String(error)}]`;
  }
}

const secrecy = new Map<string, boolean>();

/** Whether the field name indicates a secret. Cached, because there are few distinct field names. */
function isSecretKey(key: string): boolean {
  let secret = secrecy.get(key);
  if (secret === undefined) {
    secret = SECRET_KEY.test(key);
    if (secrecy.size < 1_000) secrecy.set(key, secret);
  }
  return secret;
}

/** Replacer for JSON.stringify. */
function redactor(key: string, value: unknown): unknown {
  if (isSecretKey(key) && value !== null && value !== undefined && value !== '') return REDACTED;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value instanceof Error ? errorSummary(value) : value;
}

function errorFacts(error: Error, withStack: boolean, seen: ReadonlySet<unknown> = new Set()): ErrorFacts {
  const { cause } = error;
  const facts: { -readonly [Key in keyof ErrorFacts]: ErrorFacts[Key] } = {
    message: error.message === '' ? error.name : error.message,
  };
  if ('code' in error && typeof error.code === 'string') facts.code = error.code;
  if (cause instanceof Error && !seen.has(cause)) facts.cause = errorFacts(cause, withStack, new Set([...seen, error]));
  else if (cause !== undefined && !(cause instanceof Error)) facts.cause = plain('cause', cause, withStack);
  if (withStack) facts.stack = error.stack;
  return facts;
}

/** `message (CODE)`, followed by the causes. */
function errorSummary(error: Error): string {
  return summarize(errorFacts(error, false));
}

/** The text of {@link ErrorFacts}: `message (CODE): caused by ...`, omitting causes that the message quotes. */
export function summarize({ message, code, cause }: ErrorFacts): string {
  const own = code === undefined ? message : `${message} (${code})`;
  if (cause === undefined) return own;
  if (isErrorFacts(cause) && message.includes(cause.message) && message.includes(cause.code ?? ''))
    return summarize({ message, ...(code !== undefined && { code }), cause: cause.cause });
  if (isErrorFacts(cause)) return `${own}: caused by ${summarize(cause)}`;
  return `${own}: caused by ${typeof cause === 'string' ? cause : JSON.stringify(cause)}`;
}

/** Whether a field is an error converted to plain data. */
export function isErrorFacts(value: unknown): value is ErrorFacts {
  return typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';
}
