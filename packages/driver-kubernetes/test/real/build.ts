import { ensureBuilt, programFolder } from '@nodepool/kubernetes';

/** Builds Kubernetes once, before the first file and outside of any time limit. Used by vitest. */
export default async function build(): Promise<void> {
  await ensureBuilt(programFolder(process.env));
}
