import type { Json } from '@nodepool/zk-protocol';
import { formatPath, type YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import { listOf, mapOf } from './raw-values.js';
import type { SourceDocument } from './source-document.js';

/** Keys that only files of versions before 3 have at the top; some were left behind when files were converted. */
const OLD_TOP_LEVEL = ['cron', 'targets', 'dburi', 'gearman-servers', 'zmq-publishers', 'script-dir', 'data-dir'];

/**
 * Reports a file of a version before 3 as that, in one error: its labels name providers, and its providers images, where
 * today pools name labels. Keys left behind in a file that has been converted are for the schema.
 */
export function reportOldFormat(document: SourceDocument, problems: ProblemCollector): void {
  const top = mapOf(document.value);
  const signs = [...oldLabels(top['labels']), ...oldProviders(top['providers'])];
  const leftovers = hasPools(top['providers']) ? [] : OLD_TOP_LEVEL.filter((key) => key in top).map((key) => [key]);
  const found = [...signs, ...leftovers];
  const [first] = found;
  if (first === undefined) return;
  const names = [...new Set(found.map((path) => `"${formatPath(path).replaceAll(/\[\d+\]/g, '[]')}"`))];
  const message =
    `this is a file for Nodepool before version 3 (it has ${names.join(', ')}): nothing converts it. ` +
    'Since version 3 a provider has "pools", a pool has "labels", and each of these names its "diskimage" or "cloud-image"; ' +
    'see docs/configuration.md';
  problems.add(document, first, message, { atKey: true });
}

function oldLabels(list: Json | undefined): YamlPath[] {
  return listOf(list).flatMap((entry, index) =>
    ['image', 'providers'].filter((key) => key in mapOf(entry)).map((key) => ['labels', index, key]),
  );
}

/** Today's drivers may have a key of that name, so it counts for entries that have nothing of today only. */
function oldProviders(list: Json | undefined): YamlPath[] {
  return listOf(list).flatMap((entry, index) => {
    const provider = mapOf(entry);
    const isOld = 'images' in provider && !('pools' in provider) && !('driver' in provider);
    return isOld ? [['providers', index, 'images']] : [];
  });
}

function hasPools(providers: Json | undefined): boolean {
  return listOf(providers).some((provider) => 'pools' in mapOf(provider));
}
