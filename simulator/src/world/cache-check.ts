import { leasesOf, type Launcher } from '@nodepool/core/launcher';
import {
  buildPath,
  componentPath,
  controlPath,
  imageBuildRequestPath,
  imagePath,
  imagePausePath,
  type ImageEntry,
} from '@nodepool/zk-protocol';
import type { LeaseChecks } from './lease-checks.js';
import type { World } from './world.js';

/** A cache of records with their locks. */
interface Cache {
  readonly size: number;
  get(id: string): { readonly state: string } | undefined;
  contenders(id: string): number;
}

/** A path and the transaction that wrote its record; `undefined` if the cache does not keep it. */
type Shown = readonly [path: string, mzxid: bigint | undefined];

/** Differences between the caches of an idle launcher and ZooKeeper. */
export function cacheProblems(launcher: Launcher, { checker, stored, leases }: World): string[] {
  const components = [...launcher.allComponents].map((each) => shown(componentPath(each.kind, each.id), each));
  const controls = launcher.controls.map((each) => shown(controlPath(each), each));
  return [
    ...compare('node', launcher.nodes, checker.nodes, (id) => checker.locks.get(`/nodepool/nodes/${id}/lock`)),
    ...compare('request', launcher.requests, checker.requests, (id) =>
      checker.locks.get(`/nodepool/requests-lock/${id}`),
    ),
    ...leaseProblems(launcher, leases),
    ...comparePaths('component', components, stored.components),
    ...comparePaths('control', controls, stored.controls),
    ...comparePaths('image', [...launcher.images.values()].flatMap(imageRecords), stored.images),
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

function leaseProblems(launcher: Launcher, stored: LeaseChecks): string[] {
  const known = new Map([...(leasesOf(launcher)?.values() ?? [])].map(({ id, state }) => [id, state]));
  const gone = [...known.keys()].filter((id) => !stored.leases.has(id)).map((id) => `its cache still has lease ${id}`);
  const wrong = [...stored.leases.values()].filter(({ id, state }) => known.get(id) !== state);
  return [...gone, ...wrong.map(({ id, state }) => `its cache shows lease ${id} as ${known.get(id)}, not as ${state}`)];
}

function comparePaths(what: string, cached: readonly Shown[], stored: ReadonlyMap<string, bigint>): string[] {
  const known = new Map(cached);
  const wrong = [...stored].flatMap(([path, mzxid]) => {
    if (!known.has(path)) return [`its cache lacks ${what} ${path}`];
    const seen = known.get(path) ?? mzxid;
    return seen === mzxid ? [] : [`its cache shows ${what} ${path} of transaction ${seen}, not ${mzxid}`];
  });
  const gone = [...known.keys()].filter((path) => !stored.has(path));
  return [...wrong, ...gone.map((path) => `its cache still has ${what} ${path}`)];
}

function shown(path: string, { stat }: { readonly stat: { readonly mzxid: bigint } | undefined }): Shown {
  return [path, stat?.mzxid];
}

function imageRecords({ name, paused, buildRequestedMs, builds, uploads }: ImageEntry): Shown[] {
  return [
    [imagePath(name), undefined],
    ...(paused ? [[imagePausePath(name), undefined] as const] : []),
    ...(buildRequestedMs === undefined ? [] : [[imageBuildRequestPath(name), undefined] as const]),
    ...[...builds].map(([id, build]) => shown(buildPath(name, id), build)),
    ...[...uploads].map(([path, upload]) => shown(path, upload)),
  ];
}
