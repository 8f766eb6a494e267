import { listOf, mapOf, numberOf, textOf, type JsonObject } from '@nodepool/zk-protocol';
import type { Driver } from '../contract/driver.js';
import type { ProviderConfig } from '../contract/provider-config.js';
import { reportDuplicates } from './duplicates.js';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import { PLACEHOLDER } from './repair-entry.js';
import type { SourceDocument } from './source-document.js';
import { templateProblem } from '../text/python-format.js';
import { didYouMean } from '../text/suggest.js';
import type { DiskimageConfig, LabelConfig } from '../contract/config.js';
import { formatPath } from '../contract/yaml-path.js';

/** Context of the checks of an entry. */
export interface CheckContext {
  readonly document: SourceDocument;
  readonly labels: ReadonlyMap<string, LabelConfig>;
  readonly diskimages: ReadonlyMap<string, DiskimageConfig>;
  readonly problems: ProblemCollector;
}

/** Checks the pools of any driver: unique names, known labels, and existing images. */
export function checkPools(entry: JsonObject, provider: number, context: CheckContext): void {
  const { document, problems } = context;
  const path = ['providers', provider, 'pools'];
  reportDuplicates(entry['pools'], { noun: 'pool', document, path, lastCounts: true }, problems);
  for (const [index, pool] of listOf(entry['pools']).entries()) {
    const { labels } = mapOf(pool);
    const labelsPath = [...path, index, 'labels'];
    reportDuplicates(labels, { noun: 'label', document, path: labelsPath, lastCounts: true }, problems);
    for (const label of namedEntries(labels)) {
      const labelPath = [...labelsPath, label.index];
      checkLabelName(label.name, [...labelPath, 'name'], context);
      checkImageReference(entry, label.entry, labelPath, context);
    }
  }
}

function checkLabelName(name: string, path: (string | number)[], { document, labels, problems }: CheckContext): void {
  if (labels.has(name)) return;
  problems.add(document, path, unknownLabel(name, labels));
}

/** Message for a label missing at the top level, also used by drivers with labels outside of pools. */
export function unknownLabel(name: string, labels: ReadonlyMap<string, LabelConfig>): string {
  return `label "${name}" is not defined, expected a label of the top-level "labels" list${didYouMean(name, labels.keys())}`;
}

/**
 * Checks `diskimage` and `cloud-image` of a label against the lists of the provider. A defined diskimage that the provider
 * does not list is no error, as in Nodepool (Python), although no upload of it will exist.
 */
function checkImageReference(
  entry: JsonObject,
  label: JsonObject,
  path: (string | number)[],
  { document, diskimages, problems }: CheckContext,
): void {
  for (const [key, list] of [
    ['diskimage', 'diskimages'],
    ['cloud-image', 'cloud-images'],
  ] as const) {
    const name = textOf(label[key]);
    const known = namedEntries(entry[list]).map((image) => image.name);
    if (name === undefined || known.includes(name)) continue;
    if (key === 'diskimage' && diskimages.has(name)) {
      const message = `this provider's "diskimages" do not list "${name}", so that this label cannot be launched here: add it there`;
      problems.add(document, [...path, key], message, { severity: 'warning' });
    } else {
      const message = `${key} "${name}" is not defined, expected an entry of this provider's "${list}" list`;
      problems.add(document, [...path, key], `${message}${didYouMean(name, known)}`);
    }
  }
}

/** Checks `diskimages` of a provider against the top-level list. */
export function checkProviderDiskimages(entry: JsonObject, provider: number, context: CheckContext): void {
  const { document, diskimages, problems } = context;
  const path = ['providers', provider];
  for (const list of ['diskimages', 'cloud-images']) {
    const what = { noun: list.slice(0, -1), document, path: [...path, list], lastCounts: true };
    reportDuplicates(entry[list], what, problems);
  }
  for (const { index, name } of namedEntries(entry['diskimages'])) {
    const image = diskimages.get(name);
    const where = [...path, 'diskimages', index, 'name'];
    if (image === undefined) {
      const message = `diskimage "${name}" is not defined, expected an entry of the top-level "diskimages" list`;
      problems.add(document, where, `${message}${didYouMean(name, diskimages.keys())}`);
    } else if (image.abstract) {
      problems.add(document, where, `diskimage "${name}" is abstract, expected one that is built`);
    }
  }
}

const IMAGE_NAME_FIELDS = { image_name: 'image', upload_id: '0000000001', timestamp: '1700000000' };

/** Checks the templates of image names. Uploads without a valid name fail, as in Nodepool (Python). */
export function checkImageNames(
  { images }: ProviderConfig,
  provider: number,
  { document, problems }: Pick<CheckContext, 'document' | 'problems'>,
): void {
  const problem = images === undefined ? undefined : templateProblem(images.nameFormat, IMAGE_NAME_FIELDS);
  if (problem === undefined) return;
  const path = ['providers', provider, 'image-name-format'];
  problems.add(document, path, `${problem}: uploads to this provider fail`, { severity: 'warning' });
}

/** Checks that every label of a pool is known, independently of the checks of the driver. */
export function checkPoolLabelsAreKnown(
  config: ProviderConfig,
  entry: JsonObject,
  provider: number,
  { document, labels, problems }: CheckContext,
): void {
  const pools = new Map(namedEntries(entry['pools']).map(({ name, index }) => [name, index]));
  for (const [poolName, index] of pools) {
    const path = ['providers', provider, 'pools', index];
    const prefix = formatPath(path);
    for (const name of config.pools.get(poolName)?.labels.keys() ?? []) {
      const isReported = problems.errors.some(
        (problem) => problem.path.startsWith(prefix) && problem.message.includes(`"${name}"`),
      );
      if (!labels.has(name) && name !== PLACEHOLDER && !isReported)
        problems.add(document, path, unknownLabel(name, labels));
    }
  }
}

/** Reports labels with `keep: stopped` in pools of a driver that cannot stop nodes. */
export function checkStops(
  config: ProviderConfig,
  { name, capabilities }: Pick<Driver, 'name' | 'capabilities'>,
  entry: JsonObject,
  provider: number,
  { document, labels, problems }: CheckContext,
): void {
  if (capabilities.launches && capabilities.stops === true && capabilities.resumes === true) return;
  for (const { index, name: pool } of namedEntries(entry['pools'])) {
    for (const label of config.pools.get(pool)?.labels.keys() ?? []) {
      if (labels.get(label)?.keep !== 'stopped') continue;
      const message = `label "${label}" has "keep: stopped", and driver "${name}" cannot stop nodes: remove one of them`;
      problems.add(document, ['providers', provider, 'pools', index], message);
    }
  }
}

/** Warns of a provider that neither launches nor takes images, and of pools that offer nothing. */
export function warnOfIdleProvider(
  config: ProviderConfig,
  entry: JsonObject,
  provider: number,
  { document, problems }: CheckContext,
): void {
  const path = ['providers', provider];
  if (!('pools' in entry) && !('diskimages' in entry)) {
    const message = 'the provider has neither "pools" nor "diskimages", so that nothing is done with it';
    problems.add(document, [...path, 'name'], message, { severity: 'warning' });
  }
  for (const { index, name, entry: pool } of namedEntries(entry['pools'])) {
    const read = config.pools.get(name);
    const isSwitchedOff = (numberOf(pool['max-servers']) ?? 1) <= 0 || 'labels' in pool;
    if (read === undefined || read.labels.size > 0 || isSwitchedOff) continue;
    const message = `pool "${name}" has no label, so that nothing is launched in it`;
    problems.add(document, [...path, 'pools', index, 'name'], message, { severity: 'warning' });
  }
}

/** Warns of a key that has no effect any more. */
export function warnOfFormerKeys(
  entry: JsonObject,
  provider: number,
  { document, problems }: Pick<CheckContext, 'document' | 'problems'>,
): void {
  if (!('lease-ssh-key' in entry)) return;
  const message =
    'it has no effect any more, as launchers do not log in to nodes, nor remove the keys that they added: delete the lines that end ' +
    'with "nodepool-lease-" and an id from ~/.ssh/authorized_keys of static hosts, use "lease-ca-key" and "lease-certificates", ' +
    'and see docs/leases.md';
  problems.add(document, ['providers', provider, 'lease-ssh-key'], message, { severity: 'warning', atKey: true });
}
