/** Names of variables whose values are secret even if they are short. */
const SECRET_NAME = /pass|secret|token|credential|auth|(?:^|_)key/i;
/** Variables of cloud clients and systemd, which no build tool needs. */
const FOREIGN = /^(?:OS|AWS|AZURE|ARM|GOOGLE|IBMCLOUD)_|^(?:NOTIFY_SOCKET|WATCHDOG_\w+|LISTEN_\w+)$/;
/** Documented variables of diskimage-builder and its elements, and the path of the SSH agent socket. */
const TOOL = /^(?:DIB_\w+|ELEMENTS_PATH|SSH_AUTH_SOCK)$/;
/** Public values that occur throughout a log. */
const OPEN = /^(?:PATH|ELEMENTS_PATH|DIB_RELEASE|SSH_AUTH_SOCK)$/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----/;
/** Password in a URL, such as a proxy's. */
const LOGIN = /:\/\/[^/@\s:]*:([^/@\s]+)@/g;
const LEAST_SECRET = 4;
/** Minimum length of a secret. Masking shorter values, such as numbers and switches, would make logs unreadable. */
const LEAST_VALUE = 8;
const MASK = '********';
/** Nested quoting doubles the backslashes before a character. */
const MOST_BACKSLASHES = 4;

/** Environment variables of a process or an image. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Whether a variable of the builder is hidden from the build tool: by its name, or because its value is a secret. */
const isWithheld = (name: string, value: string): boolean =>
  !TOOL.test(name) &&
  (FOREIGN.test(name) || SECRET_NAME.test(name) || PRIVATE_KEY.test(value) || hasLogin(name, value));

/** A proxy is needed to build. */
const hasLogin = (name: string, value: string): boolean => !/_proxy$/i.test(name) && value.search(LOGIN) >= 0;

/** The builder's environment without secrets and variables of cloud clients. */
export function toolVariables(own: Variables): Variables {
  return Object.fromEntries(Object.entries(own).filter(([name, value = '']) => !isWithheld(name, value)));
}

/** Masks secrets in program output, in any shell quoting. */
export class SecretMask {
  readonly #pattern: RegExp | undefined;
  /** Maximum length of a match. */
  readonly longest: number;

  /**
   * @param own - the builder's environment: secret are variables with names of secrets, and passwords in URLs
   * @param given - `env-vars` of an image: all values are secret, except short ones
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

  /** Replaces the secrets in the text. */
  hide(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK);
  }
}

/** Lines of a value: tools print line by line, and the quoting of line breaks varies. */
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
 * Pattern for the text in all quotings of shells and other languages: `'it'\''s'`, `$'a\tb'`, `a\ b`, `"\$x"`, octal,
 * hexadecimal and Unicode escapes.
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

/** @param backslashes - pattern for backslashes before a character that has no special meaning */
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
