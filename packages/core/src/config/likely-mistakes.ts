import type { JsonObject } from '@nodepool/zk-protocol';
import { checkLabelsAreOffered } from './check-offers.js';
import { checkSecrets } from './check-secrets.js';
import { checkShadows } from './check-shadows.js';
import { checkStandby } from './check-standby.js';
import type { FileCheck } from './file-check.js';
import { listOf, mapOf, namedEntries, textOf } from './raw-values.js';

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
