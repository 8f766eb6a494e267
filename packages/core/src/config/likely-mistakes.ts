import { isDeepStrictEqual } from 'node:util';
import { listOf, mapOf, textOf, type JsonObject, type Json } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../contract/provider-config.js';
import type { YamlPath } from '../contract/yaml-path.js';
import type { FileCheck } from './file-check.js';
import { namedEntries, countingEntries } from './raw-values.js';
import { providerSchema } from './provider-schema.js';
import { redactConfig, REDACTED } from './redact.js';

/**
 * Warns of valid settings that are likely mistakes. Reports nothing while the file has errors, which may be the cause.
 */
export function checkLikelyMistakes(top: JsonObject, check: FileCheck): void {
  if (check.problems.errors.length > 0) return;
  checkSecrets(top, check);
  if (check.providers.size === 0) return;
  checkLabelsAreOffered(top, check);
  checkStandby(top, check);
  checkShadows(top, check);
  checkDiskimagesAreUsed(top, check);
}

/** Warns of unused images. An image is used by a provider that lists it, its own formats, or a child image. */
function checkDiskimagesAreUsed(top: JsonObject, { document, problems }: FileCheck): void {
  const images = namedEntries(top['diskimages']);
  const used = new Set([
    ...images.map(({ entry }) => textOf(entry['parent'])),
    ...namedEntries(top['providers']).flatMap(({ entry }) => namedEntries(entry['diskimages']).map(({ name }) => name)),
  ]);
  for (const { index, name, entry } of images) {
    const isFor = used.has(name) || entry['abstract'] === true || listOf(mapOf(entry)['formats']).length > 0;
    if (isFor) continue;
    const message = `no provider lists diskimage "${name}", so that it is not built: add it to a provider, or give it formats`;
    problems.add(document, ['diskimages', index, 'name'], message, { severity: 'warning' });
  }
}

/**
 * Warns of labels that no pool of the file offers. A pool of another launcher may offer them, so this is not an error.
 * Ignores disabled labels, and those of providers that are not served.
 */
function checkLabelsAreOffered(top: JsonObject, { document, labels, providers, unserved, problems }: FileCheck): void {
  const offered = new Set([
    ...[...providers.values()].flatMap(({ pools }) => [...pools.values()].flatMap(labelNames)),
    ...[...unserved.values()].flatMap(({ pools }) => [...pools.values()].flat()),
  ]);
  for (const { index, name } of countingEntries(top['labels'])) {
    const minReady = labels.get(name)?.minReady ?? 0;
    if (offered.has(name) || minReady < 0) continue;
    const effect =
      minReady > 0 ? `its ${minReady} standby node(s) are not kept here` : 'nothing here serves requests for it';
    const message = `no pool offers label "${name}", so that ${effect}: add it to a pool, or remove it`;
    problems.add(document, ['labels', index, 'name'], message, { severity: 'warning' });
  }
}

function labelNames({ labels }: { readonly labels: ReadonlyMap<string, unknown> }): string[] {
  return [...labels.keys()];
}

/**
 * Warns of pools that are never used because another pool of the provider offers the same labels with the same settings,
 * has precedence, and has no limit, so that it uses the whole shared quota. Ignores drivers that launch nothing and thus
 * have no quota.
 */
function checkShadows(top: JsonObject, { providers, drivers, document, problems }: FileCheck): void {
  for (const { index, name, entry } of countingEntries(top['providers'])) {
    const provider = providers.get(name);
    if (provider === undefined || drivers.get(name)?.capabilities.launches !== true) continue;
    const pools = countingEntries(entry['pools']).flatMap((place) => {
      const pool = provider.pools.get(place.name);
      return pool === undefined ? [] : [{ ...place, pool }];
    });
    for (const [position, own] of pools.entries()) {
      const shadow = pools.find((other, at) => other !== own && shadows(other, own, at < position));
      if (shadow === undefined) continue;
      const message =
        `pool "${own.name}" offers what pool "${shadow.name}" offers too, which goes first and has no limit: it is never used. ` +
        `Give "${shadow.name}" a max-servers, or remove one of them`;
      problems.add(document, ['providers', index, 'pools', own.index, 'name'], message, { severity: 'warning' });
    }
  }
}

interface WrittenPool {
  readonly entry: JsonObject;
  readonly pool: PoolConfig;
}

/** @param isWrittenFirst - decides between pools of equal priority */
function shadows(other: WrittenPool, own: WrittenPool, isWrittenFirst: boolean): boolean {
  if (isLimited(other.pool) || own.pool.labels.size === 0 || own.pool.maxServers <= 0) return false;
  const [theirs, ours] = [other.pool.priority ?? 100, own.pool.priority ?? 100];
  const goesFirst = theirs < ours || (theirs === ours && isWrittenFirst);
  return goesFirst && isDeepStrictEqual(settingsOf(other.entry), settingsOf(own.entry)) && offersAll(other, own);
}

function isLimited({ maxServers, maxResources }: PoolConfig): boolean {
  return Number.isFinite(maxServers) || Object.keys(maxResources).length > 0;
}

/** Settings of the nodes of a pool. A pool with different networks or zones serves as a fallback. */
function settingsOf(entry: JsonObject): JsonObject {
  const isOwn = (key: string) => !['name', 'priority', 'labels'].includes(key) && !key.startsWith('max-');
  return Object.fromEntries(Object.entries(entry).filter(([key]) => isOwn(key)));
}

function offersAll(other: WrittenPool, own: WrittenPool): boolean {
  const theirs = new Map(namedEntries(other.entry['labels']).map(({ name, entry }) => [name, entry]));
  return namedEntries(own.entry['labels']).every(({ name, entry }) => isDeepStrictEqual(theirs.get(name), entry));
}

/**
 * Warns of standby nodes that exceed the maximum capacity: of a label in all its pools together, or of all labels that only
 * one pool offers. Ignores labels that providers that are not served offer, too.
 */
function checkStandby(top: JsonObject, check: FileCheck): void {
  const pools = [...check.providers.values()].flatMap((provider) =>
    [...provider.pools.values()].map((pool) => ({ provider: provider.name, pool })),
  );
  const elsewhere = new Set([...check.unserved.values()].flatMap((each) => [...each.pools.values()].flat()));
  const alone = new Map<PoolConfig, { provider: string; sum: number; labels: string[] }>();
  for (const { index, name } of countingEntries(top['labels'])) {
    const label = check.labels.get(name);
    const minReady = label?.minReady ?? 0;
    const scheduled = Math.max(0, ...(label?.standby?.schedule ?? []).map(({ nodes }) => nodes));
    const wanted = Math.max(minReady, minReady < 0 ? 0 : scheduled);
    const offering = pools.filter(({ pool }) => pool.labels.has(name));
    const [first] = offering;
    if (wanted <= 0 || first === undefined || elsewhere.has(name)) continue;
    const room = offering.reduce((sum, { pool }) => sum + Math.max(0, pool.maxServers), 0);
    if (wanted > room) {
      const [key, what] =
        wanted > minReady ? ['standby', 'the schedule of label'] : ['min-ready', 'min-ready of label'];
      const message = `${wanted} nodes, which ${what} "${name}" says, are more than its pools may have together (max-servers ${room})`;
      check.problems.add(check.document, ['labels', index, key], message, { severity: 'warning' });
    } else if (offering.length === 1 && minReady > 0) {
      // those of schedules may be there at other times
      const known = alone.get(first.pool) ?? { provider: first.provider, sum: 0, labels: [] };
      alone.set(first.pool, { ...known, sum: known.sum + minReady, labels: [...known.labels, name] });
    }
  }
  for (const [pool, { provider, sum, labels }] of alone) {
    if (sum > pool.maxServers) reportCrowd(check, top, { pool, provider, sum, labels });
  }
}

function reportCrowd(
  { document, problems }: FileCheck,
  top: JsonObject,
  { pool, provider, sum, labels }: { pool: PoolConfig; provider: string; sum: number; labels: readonly string[] },
): void {
  const entry = countingEntries(top['providers']).find(({ name }) => name === provider);
  const place = countingEntries(entry?.entry['pools']).find(({ name }) => name === pool.name);
  const path = ['providers', entry?.index ?? 0, 'pools', place?.index ?? 0, 'max-servers'];
  const message =
    `the standby nodes of ${labels.map((name) => `"${name}"`).join(', ')}, which only this pool offers, are ${sum} together: ` +
    `more than its max-servers ${pool.maxServers}`;
  problems.add(document, path, message, { severity: 'warning' });
}

/** Names of keys and variables that certainly hold secrets. Other names are not reported. */
const SECRET_NAME =
  /(^|[_-])(pass|password|passwd|secret|token|credentials|private[_-]key|api[_-]key|access[_-]key)($|[_-])/i;

/** Warns of secrets in the main file, which is often in a repository and widely readable. */
function checkSecrets(top: JsonObject, check: FileCheck): void {
  const password = textOf(mapOf(top['zookeeper-digest'])['password']);
  if (password !== undefined) report(['zookeeper-digest', 'password'], 'put it into the secure file (-s)', check);
  for (const { index, entry } of namedEntries(top['diskimages'])) {
    for (const key of Object.keys(mapOf(entry['env-vars'])).filter((name) => SECRET_NAME.test(name))) {
      report(['diskimages', index, 'env-vars', key], 'put it into the secure file (-s)', check);
    }
  }
  for (const { index, name, entry } of namedEntries(top['providers'])) {
    const driver = check.drivers.get(name);
    if (driver === undefined) continue;
    for (const path of redactedPaths(redactConfig(entry, providerSchema(driver)), [])) {
      if (!path.some((part) => typeof part === 'string' && SECRET_NAME.test(part))) continue;
      report(['providers', index, ...path], 'write %(NODEPOOL_...) and set that environment variable', check);
    }
  }
}

/** Reports a secret, unless its value comes from the environment. */
function report(path: YamlPath, advice: string, { document, problems }: FileCheck): void {
  if (document.isFromEnvironment(path)) return;
  problems.add(document, path, `this secret is in the main file: ${advice}`, { severity: 'warning' });
}

function redactedPaths(value: Json, path: YamlPath): YamlPath[] {
  if (value === REDACTED) return [path];
  if (value === null || typeof value !== 'object') return [];
  const children: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return children.flatMap(([key, child]) => redactedPaths(child, [...path, key]));
}
