import type { JsonObject } from '@nodepool/zk-protocol';
import type { FileCheck } from './file-check.js';
import { countingEntries } from './raw-values.js';

/**
 * Warns of labels that no pool of the file offers. A pool of another launcher may offer them, so this is not an error.
 * Ignores disabled labels, and those of providers that are not served.
 */
export function checkLabelsAreOffered(
  top: JsonObject,
  { document, labels, providers, unserved, problems }: FileCheck,
): void {
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
