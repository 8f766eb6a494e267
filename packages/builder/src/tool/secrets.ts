/** Names of variables whose values are secrets even when they are short. */
const SECRET_NAME = /pass|secret|token|credential|auth|(?:^|_)key/i;
/** Variables of clouds' clients and of systemd: build tools need none of them. */
const FOREIGN = /^(?:OS|AWS|AZURE|ARM|GOOGLE|IBMCLOUD)_|^(?:NOTIFY_SOCKET|WATCHDOG_\w+|LISTEN_\w+)$/;
/** Variables that diskimage-builder and its elements document, and the path of a socket. */
const TOOL = /^(?:DIB_\w+|ELEMENTS_PATH|SSH_AUTH_SOCK)$/;
/** Whose values stand in every second line of a log, and are no secret. */
const OPEN = /^(?:PATH|ELEMENTS_PATH|DIB_RELEASE|SSH_AUTH_SOCK)$/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
/** A login within a URL, such as that of a proxy. */
const LOGIN = /:\/\/[^/@\s:]*:([^/@\s]+)@/g;
const LEAST_SECRET = 4;
/** Shorter values are words, numbers and switches: without them the log would say nothing. */
const LEAST_VALUE = 8;
const MASK = '********';
/** Quotations within quotations double the backslashes before a character. */
const MOST_BACKSLASHES = 4;

/** Variables of a process or an image. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Whether a variable of the builder is kept from the build tool. */
export const isWithheld = (name: string): boolean => !TOOL.test(name) && (FOREIGN.test(name) || SECRET_NAME.test(name));

/** The builder's environment without secrets and without what only clients of clouds use. */
export function toolVariables(own: Variables): Variables {
  return Object.fromEntries(Object.entries(own).filter(([name]) => !isWithheld(name)));
}

/** Hides secrets in what programs print, however shells quote them. */
export class SecretMask {
  readonly #pattern: RegExp | undefined;
  /** Characters that the longest match may have. */
  readonly longest: number;

  /**
   * @param own - the builder's environment: values of variables with names of secrets, and passwords in URLs
   * @param given - `env-vars` of an image: all values but short ones
   */
  constructor(own: Variables, given: Variables = {}) {
    const secrets = [
      ...Object.entries(own).flatMap(([name, value = '']) => secretsOf(name, value, Infinity)),
      ...Object.entries(given).flatMap(([name, value = '']) => secretsOf(name, value, LEAST_VALUE)),
    ];
    const longestFirst = [...new Set(secrets)].sort((a, b) => b.length - a.length);
    this.longest = (longestFirst[0]?.length ?? 0) * (MOST_BACKSLASHES + 1);
    if (longestFirst.length > 0) this.#pattern = new RegExp(longestFirst.map(anyQuotation).join('|'), 'gu');
  }

  /** The text with its secrets replaced. */
  hide(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK);
  }
}

/** Each line of a value: tools print lines one by one, and quotations of a line break differ. */
function secretsOf(name: string, value: string, leastOther: number): string[] {
  if (OPEN.test(name)) return [];
  const isSecret = SECRET_NAME.test(name) || PRIVATE_KEY.test(value);
  const least = isSecret ? LEAST_SECRET : leastOther;
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const logins = [...value.matchAll(LOGIN)].flatMap(([, password = '']) => password);
  return [
    ...lines.filter((line) => line.length >= least),
    ...logins.filter((password) => password.length >= LEAST_SECRET),
  ];
}

/**
 * A pattern for the text itself and for all forms in which shells and other languages quote it: `'it'\''s'`, `$'a\tb'`,
 * `a\ b`, `"\$x"`, with octal, hexadecimal or Unicode escapes.
 */
function anyQuotation(text: string): string {
  return [...text.matchAll(/\\+|[^\\]/gu)]
    .map(([part], index, parts) => {
      if (part.startsWith('\\')) return `\\\\{${part.length},${part.length * MOST_BACKSLASHES}}`;
      const isBehindBackslash = parts[index - 1]?.[0].startsWith('\\') === true;
      return anyQuotationOfOne(part, isBehindBackslash ? '' : `\\\\{0,${MOST_BACKSLASHES}}`);
    })
    .join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\t': 't',
  '\r': 'r',
  '\b': 'b',
  '\f': 'f',
  '\v': 'v',
  '\x07': 'a',
  '\x1b': '[eE]',
};

/** @param backslashes - pattern for those that may come before a character without a meaning of its own */
function anyQuotationOfOne(character: string, backslashes: string): string {
  if (/^[A-Za-z0-9]$/.test(character)) return character;
  const literal = `${backslashes}${character.replace(/[\^$\\.*+?()[\]{}|/]/, '\\$&')}`;
  if (character === "'") return `${literal}(?:(?:\\\\{1,${MOST_BACKSLASHES}}'|"'")')?`;
  if (/^[ -~]$/.test(character)) return literal;
  const bytes = [...Buffer.from(character)];
  const octal = bytes.map((byte) => `\\\\+0?${byte.toString(8).padStart(3, '0')}`).join('');
  const hexadecimal = bytes.map((byte) => `\\\\+x${anyCase(byte.toString(16).padStart(2, '0'))}`).join('');
  const code = (character.codePointAt(0) ?? 0).toString(16);
  const unicode = `\\\\+[uU]\\{?0{0,7}${anyCase(code)}\\}?`;
  const named = ESCAPES[character];
  return `(?:${[literal, octal, hexadecimal, unicode, ...(named === undefined ? [] : [`\\\\+${named}`])].join('|')})`;
}

const anyCase = (digits: string): string => digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
