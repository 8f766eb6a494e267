import { fileURLToPath } from 'node:url';
import { ServiceProcess } from './service-process.js';

const PROGRAM = fileURLToPath(new URL('../../packages/launcher/bin/nodepool-launcher.js', import.meta.url));

/** The real launcher as a process of its own. */
export type LauncherProcess = ServiceProcess;

/** Starts launchers. */
export const LauncherProcess = {
  /**
   * Starts one with `config` as nodepool.yaml, see {@link ServiceProcess.start}; does not wait.
   * @param dir - a directory of its own
   * @param env - further environment variables
   * @param args - further arguments
   * @param webPort - default: a free port
   */
  start(
    dir: string,
    name: string,
    config: Record<string, unknown> | string,
    env?: Record<string, string>,
    args?: readonly string[],
    webPort?: number,
  ): Promise<LauncherProcess> {
    return ServiceProcess.start(PROGRAM, { dir, name, config, env, args, webPort });
  },
};
