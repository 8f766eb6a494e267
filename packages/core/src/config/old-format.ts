import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { formatPath, type YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import { listOf, mapOf } from './raw-values.js';
import type { SourceDocument } from './source-document.js';

/** Top-level keys of versions before 3. Converted files may still contain some. */
const OLD_TOP_LEVEL = ['cron', 'targets', 'dburi', 'gearman-servers', 'zmq-publishers', 'script-dir', 'data-dir'];

/** Provider keys of the current format. */
const OF_TODAY = ['driver', 'pools', 'diskimages', 'cloud-images'];

/**
 * Reports a file of a version before 3 in one error. Its labels name an image and providers, and its providers images;
 * in the current format, pools name labels. Leftover keys in a current file are left to the schema.
 */
export function reportOldFormat(document: SourceDocument, problems: ProblemCollector): void {
  const top = mapOf(document.value);
  const providers = listOf(top['providers']).map(mapOf);
  if (providers.some((provider) => OF_TODAY.some((key) => key in provider))) return;
  const leftovers = OLD_TOP_LEVEL.filter((key) => key in top).map((key) => [key]);
  const found = [...oldLabels(top['labels']), ...oldProviders(providers), ...leftovers];
  const [first] = found;
  if (first === undefined) return;
  const names = [...new Set(found.map((path) => `"${formatPath(path).replaceAll(/\[\d+\]/g, '[]')}"`))];
  const message =
    `this is a file for Nodepool before version 3 (it has ${names.join(', ')}): nothing converts it. ` +
    'Since version 3 a provider has "pools", a pool has "labels", and each of these names its "diskimage" or "cloud-image"; ' +
    'see docs/configuration.md';
  problems.add(document, first, message, { atKey: true });
}

/** Finds labels of the old format, which have both keys. A single key is a leftover. */
function oldLabels(list: Json | undefined): YamlPath[] {
  return listOf(list).flatMap((entry, index) => {
    const isOld = ['image', 'providers'].every((key) => key in mapOf(entry));
    return isOld
      ? [
          ['labels', index, 'image'],
          ['labels', index, 'providers'],
        ]
      : [];
  });
}

function oldProviders(providers: readonly JsonObject[]): YamlPath[] {
  return providers.flatMap((provider, index) => ('images' in provider ? [['providers', index, 'images']] : []));
}
