import { ConfigError } from '../contract/errors.js';
import type { SourceDocument } from './source-document.js';
import type { ConfigProblem, SourcePosition } from '../contract/config.js';
import { formatPath, type YamlPath } from '../contract/yaml-path.js';

/** `file:line:column: path: message`, a form that editors and terminals can link. */
export function formatProblem(problem: ConfigProblem): string {
  const { position, path, message, severity } = problem;
  const place = position === undefined ? [] : [`${position.file}:${position.line}:${position.column}`];
  const parts = [...place, ...(path === '' ? [] : [path]), severity === 'warning' ? `warning: ${message}` : message];
  return parts.join(': ');
}

/** Options of {@link ProblemCollector.add}. */
export interface ProblemOptions {
  /** Default `error`. */
  readonly severity?: ConfigProblem['severity'];
  /** Points at the key instead of at the value. */
  readonly atKey?: boolean;
  /** Points here instead. */
  readonly position?: SourcePosition;
}

/** Collects problems, so that an operator sees all of them at once. */
export class ProblemCollector {
  readonly problems: ConfigProblem[] = [];
  readonly #said = new Set<string>();
  readonly #places = new Set<string>();

  /** Records a problem at a value of a document, or at its key. Problems repeated by aliases are recorded once. */
  add(document: SourceDocument, path: YamlPath, message: string, options: ProblemOptions = {}): ConfigProblem {
    const severity = options.severity ?? 'error';
    const position =
      options.position ?? (options.atKey === true ? document.keyPositionOf(path) : document.positionOf(path));
    const problem: ConfigProblem = { severity, position, path: formatPath(path), message };
    this.addAll([problem]);
    return problem;
  }

  /** Whether exactly this value has an error. */
  hasErrorAt(document: SourceDocument, path: YamlPath): boolean {
    return this.#places.has(placeOf(document.file, formatPath(path)));
  }

  /** Adds problems found elsewhere. */
  addAll(problems: Iterable<ConfigProblem>): void {
    for (const problem of problems) {
      const { severity, position, path, message } = problem;
      const said = JSON.stringify([severity, position?.file, position?.line, position?.column, message]);
      if (position !== undefined && this.#said.has(said)) continue;
      this.#said.add(said);
      if (severity === 'error') this.#places.add(placeOf(position?.file, path));
      this.problems.push(problem);
    }
  }

  get errors(): ConfigProblem[] {
    return this.problems.filter((problem) => problem.severity === 'error');
  }

  get warnings(): ConfigProblem[] {
    return this.problems.filter((problem) => problem.severity === 'warning').sort(byPosition);
  }

  /** @throws {ConfigError} if there is any error; its message has one line per error */
  throwIfErrors(): void {
    const errors = this.errors.sort(byPosition);
    if (errors.length === 0) return;
    throw new ConfigError(errors.map(formatProblem).join('\n'), [...this.problems].sort(byPosition));
  }
}

function byPosition(a: ConfigProblem, b: ConfigProblem): number {
  const file = (a.position?.file ?? '').localeCompare(b.position?.file ?? '');
  if (file !== 0) return file;
  return (a.position?.line ?? 0) - (b.position?.line ?? 0) || (a.position?.column ?? 0) - (b.position?.column ?? 0);
}

function placeOf(file: string | undefined, path: string): string {
  return `${file ?? ''}\n${path}`;
}
