import { IMAGES_ROOT, isPoolComponent } from '@nodepool/zk-protocol';
import type { ControlKind, PoolComponentRecord, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config, ProviderConfig } from '@nodepool/core';
import { closestWord } from '../command/closest.js';
import type { CliContext } from '../command/context.js';
import { loadIfPresent } from './connection.js';
import { fetchComponents, ifPresent } from './fetch-records.js';

/** Known names of a kind: of registered launchers, of the local configuration and of image records. */
export async function knownNames(
  context: CliContext,
  zk: ZooKeeper,
  kind: Exclude<ControlKind, 'node'>,
): Promise<string[]> {
  const config = await loadIfPresent(context);
  if (kind === 'image') {
    const stored = (await ifPresent(zk.getChildren(IMAGES_ROOT))) ?? [];
    return [...new Set([...(config?.diskimages.keys() ?? []), ...stored])].sort();
  }
  const pools = (await fetchComponents({ ...context, zk }, 'pool')).filter(isPoolComponent);
  return [...new Set([...configured(config, kind), ...pools.flatMap((pool) => registered(pool, kind))])].sort();
}

type RegisteredKind = 'provider' | 'pool' | 'label';

function configured(config: Config | undefined, kind: RegisteredKind): string[] {
  if (!config) return [];
  if (kind === 'label') return [...config.labels.keys()];
  if (kind === 'provider') return [...config.providers.keys()];
  return [...config.providers.values()].flatMap(poolsOf);
}

/** Reads the names of pools from the entry, as the driver is not loaded. */
function poolsOf({ name, entry }: ProviderConfig): string[] {
  const { pools } = entry;
  if (!Array.isArray(pools)) return [];
  return pools.flatMap((pool) => {
    const poolName = pool !== null && typeof pool === 'object' && !Array.isArray(pool) ? pool['name'] : undefined;
    return typeof poolName === 'string' ? [`${name}/${poolName}`] : [];
  });
}

function registered({ providerName, name, supportedLabels }: PoolComponentRecord, kind: RegisteredKind): string[] {
  if (kind === 'label') return [...supportedLabels];
  return [kind === 'provider' ? providerName : `${providerName}/${name}`];
}

/** A hint for an unknown name: `, did you mean rack?`, or the known names. */
export function meantText(name: string, known: readonly string[]): string {
  const meant = closestWord(name, known);
  if (meant !== undefined) return `, did you mean ${meant}?`;
  return known.length === 0
    ? ''
    : `; known are ${known.slice(0, MOST_NAMES).join(', ')}${known.length > MOST_NAMES ? ', ...' : ''}`;
}

const MOST_NAMES = 10;
