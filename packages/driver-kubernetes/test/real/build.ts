import { ensureBuilt, programFolder } from '@nodepool/kubernetes';

/** Builds Kubernetes once, before the first file and outside of any time limit. Used by vitest. */
export async function setup(): Promise<void> {
  await ensureBuilt(programFolder(process.env));
}
