import type { Config } from '@nodepool/core';
import { formatProblem, loadConfig } from '@nodepool/core/config';
import type { ConfigProblem, DriverRegistry, UnservedProvider } from '@nodepool/core/config';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { Json } from '@nodepool/zk-protocol';
import { loadStrictConfig, type StrictChecks } from '../connection/config.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printValue } from '../terminal/output.js';

function problemToJson({ severity, position, path, message }: ConfigProblem): Json {
  const place = position ? { file: position.file, line: position.line, column: position.column } : null;
  return { severity, position: place, path, message };
}

/** All errors and warnings of an error about a configuration; one without a list is the only one. */
export function problemsOf(error: Error): readonly ConfigProblem[] {
  const problems = 'problems' in error ? (error.problems as readonly ConfigProblem[]) : [];
  return problems.length > 0
    ? problems
    : [{ severity: 'error', position: undefined, path: '', message: error.message }];
}

/** What is wrong with a configuration. */
export interface CheckedFile {
  /** All errors and warnings. */
  readonly problems: readonly ConfigProblem[];
  /** Providers whose driver is missing; a warning among the problems is about each. */
  readonly unserved: ReadonlyMap<string, UnservedProvider>;
}

/** Checks the configuration. */
export async function checkFile(context: CliContext, checks: StrictChecks): Promise<CheckedFile> {
  try {
    const { warnings, unserved = new Map() } = await loadStrictConfig(context, checks);
    return { problems: warnings, unserved };
  } catch (error) {
    if (!isNodepoolError(error)) throw error;
    return { problems: problemsOf(error), unserved: new Map() };
  }
}

/** Prints the problems of a configuration. @returns whether it is valid */
export function showProblems(context: CliContext, problems: readonly ConfigProblem[]): boolean {
  const valid = !problems.some(({ severity }) => severity === 'error');
  if (context.options.format !== 'table') {
    printValue(context, { valid, problems: problems.map(problemToJson) });
    return valid;
  }
  for (const problem of problems) inform(formatProblem(problem));
  const file = context.options.configFile;
  if (valid) print(`Configuration is valid: ${file}`);
  else inform(`Configuration is not valid: ${file}`);
  return valid;
}

/**
 * Reads the configuration named by `-c` as `config-validate --unserved-ok` does.
 * @returns `undefined` if it is not valid, after printing the problems
 */
export async function loadCheckedConfig(context: CliContext, drivers: DriverRegistry): Promise<Config | undefined> {
  const { options, env, clock } = context;
  const { configFile: file, secureFile, stateDir } = options;
  try {
    return await loadConfig({
      ...{ file, secureFile, stateDir, env, drivers, clock },
      ...{ mode: 'validate', leavesUnserved: true },
    });
  } catch (error) {
    if (!isNodepoolError(error)) throw error;
    showProblems(context, problemsOf(error));
    return undefined;
  }
}
