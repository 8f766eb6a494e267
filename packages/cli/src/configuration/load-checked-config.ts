import type { Config } from '@nodepool/core';
import { loadConfig, type DriverRegistry } from '@nodepool/core/config';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { reportProblems } from './validate.js';

/** Reads the configuration named by `-c` as `config-validate` does. @returns `undefined` when it is not valid, which has been said */
export async function loadCheckedConfig(context: CliContext, drivers: DriverRegistry): Promise<Config | undefined> {
  const { options, env, clock } = context;
  const { configFile: file, secureFile, stateDir } = options;
  try {
    return await loadConfig({ file, secureFile, stateDir, env, drivers, mode: 'validate', clock });
  } catch (error) {
    if (!isNodepoolError(error)) throw error;
    reportProblems(context, error);
    return undefined;
  }
}
