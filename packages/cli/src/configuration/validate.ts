import { type ConfigProblem } from '@nodepool/core';
import { formatProblem } from '@nodepool/core/config';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { Json } from '@nodepool/zk-protocol';
import { loadStrictConfig } from '../connection/config.js';
import { print, tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printValue } from '../terminal/output.js';

function problemToJson({ severity, position, path, message }: ConfigProblem): Json {
  const place = position ? { file: position.file, line: position.line, column: position.column } : null;
  return { severity, position: place, path, message };
}

function problemsOf(error: Error): readonly ConfigProblem[] {
  const problems = 'problems' in error ? (error.problems as readonly ConfigProblem[]) : [];
  return problems.length > 0
    ? problems
    : [{ severity: 'error', position: undefined, path: '', message: error.message }];
}

/** Everything that is wrong with the configuration, or looks wrong. */
export async function findProblems(context: CliContext): Promise<readonly ConfigProblem[]> {
  try {
    return (await loadStrictConfig(context)).warnings;
  } catch (error) {
    if (!isNodepoolError(error)) throw error;
    return problemsOf(error);
  }
}

/** Says what is wrong with a configuration that could not be loaded. */
export function reportProblems(context: CliContext, error: Error): void {
  showProblems(context, problemsOf(error));
}

/** @returns whether the configuration is valid */
function showProblems(context: CliContext, problems: readonly ConfigProblem[]): boolean {
  const valid = !problems.some(({ severity }) => severity === 'error');
  if (context.options.format !== 'table') {
    printValue(context, { valid, problems: problems.map(problemToJson) });
    return valid;
  }
  for (const problem of problems) tell(formatProblem(problem));
  const file = context.options.configFile;
  if (valid) print(`Configuration is valid: ${file}`);
  else tell(`Configuration is not valid: ${file}`);
  return valid;
}

/**
 * `nodepool config-validate`: reads the configuration and names everything wrong with it.
 * @returns the exit status: 1 for errors, with `--strict` for warnings too, such as a cloud that `clouds.yaml` lacks
 */
export async function configValidate(context: CliContext): Promise<number> {
  const problems = await findProblems(context);
  const isValid = showProblems(context, problems);
  return isValid && !(context.options.strict && problems.length > 0) ? 0 : 1;
}
