const SECRET_KEY =
  /pass(?:word|wd|phrase)|(?:^|[_-])pass$|token$|secret|key[_-]?data|private[_-]?key|authorization|credential/i;

/** What stands in for a secret. */
export const REDACTED = '[redacted]';

/** Whether a field's name says that its value must not be shown. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}

/** JSON of a value in which secrets at any depth are redacted; text that says so when there is no JSON of it. */
export function toRedactedJson(value: unknown): string {
  try {
    return JSON.stringify(value, redactor) ?? String(value);
  } catch (error) {
    return JSON.stringify(`[not shown: ${error instanceof Error ? error.message : String(error)}]`);
  }
}

/** Replacer for JSON.stringify. */
export function redactor(key: string, value: unknown): unknown {
  if (isSecretKey(key) && value !== null && value !== undefined && value !== '') return REDACTED;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value instanceof Error ? errorSummary(value) : value;
}

/** `message (CODE)`, with the causes behind it. */
export function errorSummary(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const seen = new Set<unknown>();
  const parts: string[] = [];
  for (let current: unknown = error; current !== undefined && !seen.has(current);) {
    seen.add(current);
    parts.push(oneError(current));
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(': caused by ');
}

function oneError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message === '' ? error.name : error.message;
  return 'code' in error && typeof error.code === 'string' ? `${text} (${error.code})` : text;
}
