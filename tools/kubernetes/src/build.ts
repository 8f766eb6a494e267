import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet'];
const BUILD = fileURLToPath(new URL('../build.sh', import.meta.url));

/** Folder with the programs, outside of the repository: `NODEPOOL_KUBERNETES_DIR`, else in the cache of the user. */
export function programFolder(env: NodeJS.ProcessEnv): string {
  return (
    env['NODEPOOL_KUBERNETES_DIR'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'nodepool-kubernetes')
  );
}

/** Builds Kubernetes unless the folder has it. @returns the folder with its programs */
export async function ensureBuilt(folder: string): Promise<string> {
  const programs = join(folder, 'bin');
  if (PROGRAMS.every((name) => existsSync(join(programs, name)))) return programs;
  const build = spawn(BUILD, [folder], { stdio: 'inherit' });
  const status = await new Promise<number | null>((resolve, reject) => {
    build.once('exit', resolve);
    build.once('error', reject);
  });
  if (status !== 0) throw new Error(`${BUILD} ${folder} ended with status ${status}: its output says why`);
  return programs;
}
