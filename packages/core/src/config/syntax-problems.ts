import type { YAMLError } from 'yaml';

const REFERENCE = /^%\(([^)\n]*)\)/;

/**
 * Says in the terms of who writes a configuration why its text is no YAML.
 * @param text - after substitution, the text the error's positions are about
 */
export function describeSyntaxError(error: YAMLError, text: string): string {
  if (error.code === 'MULTIPLE_DOCS') {
    return 'a second document begins here, expected one document in a file: remove the "---", or what follows';
  }
  const reference = REFERENCE.exec(text.slice(error.pos[0], error.pos[0] + 200));
  if (reference?.[1] !== undefined) return unresolvedReference(reference[1]);
  const reason = error.message.split('\n')[0] ?? error.message;
  return `YAML parsing failed: ${reason}`;
}

/** Why a `%(NAME)` was not replaced. */
export function unresolvedReference(name: string): string {
  if (name.startsWith('NODEPOOL_'))
    return `the environment variable ${name} is not set, so that %(${name}) has no value`;
  return `%(${name}) has no value: only environment variables whose names begin with NODEPOOL_ are taken`;
}

/** The variables that are named in a text and were not replaced. */
export function unresolvedNames(text: string): string[] {
  return [...text.matchAll(/%\((NODEPOOL_[^)\n]*)\)/g)].map(([, name]) => name ?? '');
}
