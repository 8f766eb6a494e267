import { mapOf, numberOf, textOf, textsOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import { pythonNumber } from './python-number.js';
import type { SourceDocument, WrittenScalar } from './source-document.js';
import { didYouMean } from '../text/suggest.js';
import type { DiskimageConfig, DiskimageValidation } from '../contract/config.js';

/** Default values of an image. */
const DEFAULTS: Omit<DiskimageConfig, 'name' | 'abstract' | 'parent'> = {
  formats: [],
  keepFormats: [],
  deleteAfterUpload: false,
  rebuildAgeMs: 86_400_000,
  buildTimeoutMs: 28_800_000,
  release: '',
  elements: [],
  envVars: {},
  pause: false,
  username: 'zuul',
  pythonPath: 'auto',
  shellType: undefined,
  dibCmd: 'disk-image-create',
  builders: undefined,
  validate: undefined,
  canary: false,
  metadata: {},
};

/** Default timeout of the validation command of an image. */
const COMMAND_LIMIT_MS = 600_000;

/** Keys of the trial of new builds that only former releases have. */
const FORMER_TRIAL_KEYS = ['launches', 'step-time'];

interface Entry {
  index: number;
  name: string;
  entry: JsonObject;
}

/**
 * Reads `diskimages`. Each image inherits the values of its ancestors, from the root down. Images with an unknown parent or
 * a cycle of parents are reported and omitted.
 * @param secureEnvVars - environment from the secure file by image; overrides that of the image and is not inherited
 */
export function readDiskimages(
  list: Json | undefined,
  secureEnvVars: ReadonlyMap<string, Readonly<Record<string, string>>>,
  document: SourceDocument,
  problems: ProblemCollector,
): Map<string, DiskimageConfig> {
  const entries = new Map(namedEntries(list).map((item) => [item.name, item]));
  const images = new Map<string, DiskimageConfig>();
  for (const item of entries.values()) {
    const chain = parentChain(item, entries, document, problems);
    if (chain === undefined) continue;
    let image: DiskimageConfig = { name: item.name, abstract: false, parent: undefined, ...DEFAULTS };
    for (const link of chain) image = applyEntry(image, link, document);
    warnOfLostMetadata(item, chain, document, problems);
    checkFileNames(item, document, problems);
    warnOfFormerKeys(item, document, problems);
    images.set(item.name, {
      ...image,
      envVars: { ...image.envVars, ...secureEnvVars.get(item.name) },
      abstract: item.entry['abstract'] === true,
      parent: textOf(item.entry['parent']),
    });
  }
  return images;
}

/** Checks names and formats: both become file names in `images-dir`, and names become znodes. */
function checkFileNames({ name, index, entry }: Entry, document: SourceDocument, problems: ProblemCollector): void {
  const path = ['diskimages', index];
  if (entry['abstract'] !== true && !isFileNamePart(name)) {
    const message = `diskimage "${name}" would be built outside of images-dir or nowhere: its name becomes a part of file names`;
    problems.add(document, [...path, 'name'], `${message}, so choose one without "/", and neither "." nor ".."`);
  }
  for (const key of ['formats', 'keep-formats']) {
    for (const [i, format] of textsOf(entry[key]).entries()) {
      if (isFileNamePart(format)) continue;
      const message = `diskimage "${name}" has the format "${format}", which becomes the ending of a file name`;
      problems.add(document, [...path, key, i], `${message}: write a format such as qcow2 or raw`);
    }
  }
}

const isFileNamePart = (text: string): boolean => !text.includes('/') && !['.', '..', ''].includes(text);

/** Lists the image and its ancestors, root first. */
function parentChain(
  item: Entry,
  entries: ReadonlyMap<string, Entry>,
  document: SourceDocument,
  problems: ProblemCollector,
): Entry[] | undefined {
  const chain = [item];
  for (let current = item; ;) {
    const parentName = textOf(current.entry['parent']);
    if (parentName === undefined) return chain;
    const parent = entries.get(parentName);
    const path = ['diskimages', current.index, 'parent'];
    if (parent === undefined) {
      const hint = didYouMean(parentName, entries.keys());
      if (current === item) {
        const message = `diskimage "${item.name}" has the non-existent parent "${parentName}"`;
        problems.add(document, path, `${message}, expected the name of a diskimage${hint}`);
      }
      return undefined;
    }
    if (chain.includes(parent)) {
      const circle = [...chain.map(({ name }) => name).reverse(), parent.name].join(' -> ');
      if (parent === item) problems.add(document, path, `the parents form a circle: ${circle}`);
      return undefined;
    }
    chain.unshift(parent);
    current = parent;
  }
}

/** Applies the values of an entry to the inherited ones, by the rule of each key. */
function applyEntry(image: DiskimageConfig, { index, entry }: Entry, document: SourceDocument): DiskimageConfig {
  const release = document.scalarAt(['diskimages', index, 'release']);
  const formats = textsOf(entry['formats']);
  const keepFormats = textsOf(entry['keep-formats']);
  return {
    ...image,
    formats: formats.length > 0 ? formats : image.formats,
    keepFormats: keepFormats.length > 0 ? keepFormats : image.keepFormats,
    deleteAfterUpload: booleanOr(entry['delete-after-upload'], image.deleteAfterUpload),
    rebuildAgeMs: secondsOr(entry['rebuild-age'], image.rebuildAgeMs),
    buildTimeoutMs: secondsOr(entry['build-timeout'], image.buildTimeoutMs),
    release: releaseText(entry['release'], release) ?? image.release,
    elements: [...image.elements, ...textsOf(entry['elements'])],
    envVars: { ...image.envVars, ...(mapOf(entry['env-vars']) as Record<string, string>) },
    pause: image.pause || entry['pause'] === true,
    username: textOf(entry['username']) ?? image.username,
    pythonPath: textOf(entry['python-path']) ?? image.pythonPath,
    shellType: textOf(entry['shell-type']) ?? image.shellType,
    dibCmd: textOf(entry['dib-cmd']) ?? image.dibCmd,
    builders: entry['builders'] === undefined ? image.builders : textsOf(entry['builders']),
    validate: entry['validate'] === undefined ? image.validate : readValidation(mapOf(entry['validate'])),
    canary: image.canary || entry['canary'] !== undefined,
    metadata: mapOf(entry['metadata']),
  };
}

/** Reads the validation. It replaces that of the parent as a whole. */
function readValidation(entry: JsonObject): DiskimageValidation {
  return {
    pool: textOf(entry['pool']),
    label: textOf(entry['label']),
    command: textOf(entry['command']),
    timeoutMs: secondsOr(entry['timeout'], COMMAND_LIMIT_MS),
  };
}

function booleanOr(value: Json | undefined, inherited: boolean): boolean {
  return typeof value === 'boolean' ? value : inherited;
}

/** Zero inherits the value of the parent. */
function secondsOr(value: Json | undefined, inheritedMs: number): number {
  const seconds = numberOf(value) ?? 0;
  return seconds === 0 ? inheritedMs : seconds * 1000;
}

/** Formats a number as Python does, for the environment of a build. */
function releaseText(value: Json | undefined, written: WrittenScalar | undefined): string | undefined {
  return typeof value === 'number' ? pythonNumber(value, written?.text) : textOf(value);
}

/** Warns of keys that have no effect any more. */
function warnOfFormerKeys({ index, entry }: Entry, document: SourceDocument, problems: ProblemCollector): void {
  for (const key of FORMER_TRIAL_KEYS.filter((name) => name in mapOf(entry['canary']))) {
    const message =
      'it has no effect any more: all launches in a provider use a new build once one of its nodes was ready there; "validate" tests ' +
      'it before that';
    problems.add(document, ['diskimages', index, 'canary', key], message, { severity: 'warning', atKey: true });
  }
}

/** Warns because users expect metadata to be inherited like all other keys. */
function warnOfLostMetadata(
  item: Entry,
  chain: readonly Entry[],
  document: SourceDocument,
  problems: ProblemCollector,
): void {
  if (Object.keys(mapOf(item.entry['metadata'])).length > 0) return;
  const ancestor = chain.slice(0, -1).findLast(({ entry }) => Object.keys(mapOf(entry['metadata'])).length > 0);
  if (ancestor === undefined) return;
  const message = `metadata is not inherited: that of "${ancestor.name}" does not apply to "${item.name}", repeat it here`;
  problems.add(document, ['diskimages', item.index], message, { severity: 'warning' });
}
