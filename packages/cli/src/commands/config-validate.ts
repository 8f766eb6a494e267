import { defineCommand, NO_ARGUMENTS } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { findProblems, showProblems } from '../configuration/problems.js';

/** `nodepool config-validate`. */
export const command = defineCommand({
  parse: () => NO_ARGUMENTS,
  run: configValidate,
});

/**
 * `nodepool config-validate`: reads the configuration and names everything wrong with it.
 * @returns the exit status: 1 for errors, with `--strict` for warnings too, such as a cloud that `clouds.yaml` lacks
 */
async function configValidate(context: CliContext): Promise<number> {
  const problems = await findProblems(context);
  const isValid = showProblems(context, problems);
  return isValid && !(context.options.strict && problems.length > 0) ? 0 : 1;
}
