import { defineCommand, flag } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { checkFile, showProblems } from '../configuration/problems.js';

/** `nodepool config-validate`. */
export const command = defineCommand({
  options: {
    'unserved-ok': {
      type: 'boolean',
      default: false,
      describe: 'warn of a provider whose driver is missing, as services do, if there are others',
    },
  },
  parse: (values) => ({ unservedOk: flag(values, 'unserved-ok') }),
  run: configValidate,
});

/**
 * `nodepool config-validate`: reads the configuration and names everything wrong with it.
 * @returns the exit status: 1 for errors, with `--strict` for warnings too, such as a cloud that `clouds.yaml` lacks
 */
async function configValidate(context: CliContext, args: { unservedOk: boolean }): Promise<number> {
  const { problems } = await checkFile(context, args.unservedOk);
  const isValid = showProblems(context, problems);
  return isValid && !(context.options.strict && problems.length > 0) ? 0 : 1;
}
