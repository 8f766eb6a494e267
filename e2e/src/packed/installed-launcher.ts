import { join } from 'node:path';
import { ServiceProcess, type ServiceOptions } from '../service-process.js';

/**
 * Starts the launcher that npm has installed in a folder; does not wait.
 * @param site - the folder with the `node_modules`, where the launcher looks for drivers as well
 */
export function startInstalledLauncher(site: string, options: Omit<ServiceOptions, 'name'>): Promise<ServiceProcess> {
  const program = join(site, 'node_modules', '.bin', 'nodepool-launcher');
  return ServiceProcess.start(program, { ...options, name: 'the installed launcher' });
}
