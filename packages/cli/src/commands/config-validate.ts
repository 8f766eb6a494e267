import { defineCommand, flag } from '../command/command.js';
import { inform } from '../command/context.js';
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
    'as-original': {
      type: 'boolean',
      default: false,
      describe: 'report what config-validate of the original refuses, too',
    },
    'check-access': {
      type: 'boolean',
      default: false,
      describe: 'ask clusters what the accounts of providers may not do, and say what that costs',
    },
  },
  parse: (values) => ({
    unservedOk: flag(values, 'unserved-ok'),
    asOriginal: flag(values, 'as-original'),
    asksClouds: flag(values, 'check-access'),
  }),
  run: configValidate,
});

interface Asked {
  readonly unservedOk: boolean;
  readonly asOriginal: boolean;
  readonly asksClouds: boolean;
}

/**
 * `nodepool config-validate`: reads the configuration and names everything wrong with it.
 * @returns the exit status: 1 for errors, with `--strict` for warnings too, such as a cloud that `clouds.yaml` lacks
 */
async function configValidate(context: CliContext, args: Asked): Promise<number> {
  const { clock, logger } = context;
  const notKnown = (provider: string, why: string) => inform(`provider "${provider}": rights are not known: ${why}`);
  const { problems } = await checkFile(context, {
    ...{ leavesUnserved: args.unservedOk, asOriginal: args.asOriginal },
    access: args.asksClouds ? { clock, logger, notKnown } : undefined,
  });
  const isValid = showProblems(context, problems);
  return isValid && !(context.options.strict && problems.length > 0) ? 0 : 1;
}
