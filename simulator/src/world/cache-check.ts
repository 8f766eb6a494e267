import type { InvariantChecker } from '@nodepool/core/testing';
import type { Launcher } from '@nodepool/core/launcher';

/** A cache of records with their locks. */
interface Cache {
  readonly size: number;
  get(id: string): { readonly state: string } | undefined;
  contenders(id: string): number;
}

/** How what a launcher shows differs from what ZooKeeper has, while nothing moves. */
export function cacheProblems(launcher: Launcher, checker: InvariantChecker): string[] {
  return [
    ...compare('node', launcher.nodes, checker.nodes, (id) => checker.locks.get(`/nodepool/nodes/${id}/lock`)),
    ...compare('request', launcher.requests, checker.requests, (id) =>
      checker.locks.get(`/nodepool/requests-lock/${id}`),
    ),
  ];
}

function compare(
  what: string,
  cache: Cache,
  stored: ReadonlyMap<string, { readonly state: string }>,
  lockOf: (id: string) => { readonly size: number } | undefined,
): string[] {
  const problems: string[] = [];
  for (const [id, { state }] of stored) {
    const shown = cache.get(id)?.state ?? 'missing';
    if (shown !== state) problems.push(`its cache shows ${what} ${id} as ${shown}, not as ${state}`);
    const entries = lockOf(id)?.size ?? 0;
    const seen = cache.contenders(id);
    if (seen !== entries) problems.push(`its cache shows ${seen} lock entries of ${what} ${id}, not ${entries}`);
  }
  if (cache.size !== stored.size)
    problems.push(`its cache has ${cache.size} records of kind ${what}, not ${stored.size}`);
  return problems;
}
