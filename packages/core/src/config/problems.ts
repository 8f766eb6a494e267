import { ConfigError } from '../errors.js';
import type { SourceDocument } from './source-document.js';
import type { ConfigProblem } from './types.js';
import { formatPath, type YamlPath } from './yaml-path.js';

/** `file:line:column: path: message`, the form editors and terminals can follow. */
export function formatProblem(problem: ConfigProblem): string {
  const { position, path, message, severity } = problem;
  const place = position === undefined ? [] : [`${position.file}:${position.line}:${position.column}`];
  const parts = [...place, ...(path === '' ? [] : [path]), severity === 'warning' ? `warning: ${message}` : message];
  return parts.join(': ');
}

/** Collects what is wrong, so that an operator sees all of it at once. */
export class ProblemCollector {
  readonly problems: ConfigProblem[] = [];

  /** Records a problem at a value of a document, or at its key. */
  add(
    document: SourceDocument,
    path: YamlPath,
    message: string,
    options: { severity?: ConfigProblem['severity']; atKey?: boolean } = {},
  ): void {
    this.problems.push({
      severity: options.severity ?? 'error',
      position: options.atKey === true ? document.keyPositionOf(path) : document.positionOf(path),
      path: formatPath(path),
      message,
    });
  }

  /** Takes over problems found elsewhere. */
  addAll(problems: Iterable<ConfigProblem>): void {
    this.problems.push(...problems);
  }

  get errors(): ConfigProblem[] {
    return this.problems.filter((problem) => problem.severity === 'error');
  }

  get warnings(): ConfigProblem[] {
    return this.problems.filter((problem) => problem.severity === 'warning');
  }

  /** @throws {ConfigError} when there is any error; its message has one line per error */
  throwIfErrors(): void {
    const errors = this.errors.sort(byPosition);
    if (errors.length === 0) return;
    throw new ConfigError(errors.map(formatProblem).join('\n'), [...errors, ...this.warnings]);
  }
}

function byPosition(a: ConfigProblem, b: ConfigProblem): number {
  const file = (a.position?.file ?? '').localeCompare(b.position?.file ?? '');
  if (file !== 0) return file;
  return (a.position?.line ?? 0) - (b.position?.line ?? 0) || (a.position?.column ?? 0) - (b.position?.column ?? 0);
}
