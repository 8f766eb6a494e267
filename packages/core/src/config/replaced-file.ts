import { statSync } from 'node:fs';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';

/** Warns of a configuration file that will never have new content. */
export function checkReplaced({ document, problems }: { document: SourceDocument; problems: ProblemCollector }): void {
  const why = replacedFile(document.file);
  if (why !== undefined) problems.add(document, [], why, { severity: 'warning' });
}

/**
 * Why a file will never have new content: without a name, it is one that a container has by a bind mount, and that was replaced
 * on its host.
 * @returns `undefined`: it may get new content, or it cannot be looked at
 */
export function replacedFile(file: string): string | undefined {
  try {
    if (statSync(file).nlink !== 0) return undefined;
  } catch {
    return undefined; // reading it reports the reason
  }
  return (
    `${file} was replaced on the host of a bind mount, and this is the former file (nlink 0): mount its directory instead of the file, ` +
    'or restart the container'
  );
}
