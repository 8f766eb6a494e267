import type { YAMLError } from 'yaml';

const REFERENCE = /^%\(([^)\n]*)\)/;
/** Characters that look like spaces of an indentation, e.g. in text copied from a web page. */
const FOREIGN_SPACE = /^[ \t]*([^\S \t\r\n]|\u200b)/;

/**
 * Describes a YAML syntax error in terms of the configuration.
 * @param text - text after substitution, to which the positions of the error refer
 */
export function describeSyntaxError(error: YAMLError, text: string): string {
  if (error.code === 'MULTIPLE_DOCS') {
    return 'a second document begins here, expected one document in a file: remove the "---", or what follows';
  }
  const reference = REFERENCE.exec(text.slice(error.pos[0], error.pos[0] + 200));
  if (reference?.[1] !== undefined) return unresolvedReference(reference[1]);
  const foreign = FOREIGN_SPACE.exec(text.slice(text.lastIndexOf('\n', error.pos[0] - 1) + 1))?.[1];
  if (foreign !== undefined) {
    const code = foreign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `YAML parsing failed: this line begins with the character U+${code}, which only looks like a space: expected spaces`;
  }
  const reason = error.message.split('\n')[0] ?? error.message;
  return `YAML parsing failed: ${reason}`;
}

/** Explains why a `%(NAME)` was not replaced. */
export function unresolvedReference(name: string): string {
  if (name.startsWith('NODEPOOL_'))
    return `the environment variable ${name} is not set, so that %(${name}) has no value`;
  return `%(${name}) has no value: only environment variables whose names begin with NODEPOOL_ are taken`;
}

/** Names of the variables in a text that were not replaced. */
export function unresolvedNames(text: string): string[] {
  return [...text.matchAll(/%\((NODEPOOL_[^)\n]*)\)/g)].map(([, name]) => name ?? '');
}
