import type { Column, Listing } from './listing.js';

/** What is in a build. */
export interface BuildContents {
  /** Bytes of each image file, by format. */
  readonly sizes: Readonly<Record<string, number>>;
  /** Versions of packages by name; `null`: the build has no list of them. */
  readonly packages: Readonly<Record<string, string>> | null;
  /** Commits of source repositories by name; `null`: the build has no list of them. */
  readonly repositories: Readonly<Record<string, string>> | null;
}

/** Something that two builds do not have in common, or the size of a file of theirs. */
export interface ContentsChange {
  readonly kind: 'package' | 'repository' | 'size';
  readonly name: string;
  /** `null`: it is not in the older one. */
  readonly before: string | number | null;
  /** `null`: it is not in the newer one. */
  readonly after: string | number | null;
}

const MEBIBYTE = 1_048_576;

/** The form of a builder's `/image-contents`. */
export function buildContentsToJson(contents: BuildContents): string {
  return `${JSON.stringify(contents)}\n`;
}

/** Reads what a builder has answered. @returns `undefined` for anything else, such as the page of a proxy */
export function buildContentsFromJson(json: unknown): BuildContents | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { sizes, packages, repositories } = json as Readonly<Record<string, unknown>>;
  const isNumber = (value: unknown): value is number => typeof value === 'number';
  const isText = (value: unknown): value is string => typeof value === 'string';
  const known = recordOf(sizes, isNumber);
  return (
    known && {
      sizes: known,
      packages: recordOf(packages, isText) ?? null,
      repositories: recordOf(repositories, isText) ?? null,
    }
  );
}

function recordOf<T>(value: unknown, isValue: (one: unknown) => one is T): Record<string, T> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, T] => isValue(entry[1])));
}

/** What changed from one build to another: sizes, whether they differ or not, then packages and repositories that do. */
export function compareContents(before: BuildContents, after: BuildContents): ContentsChange[] {
  return [
    ...changesOf('size', before.sizes, after.sizes),
    ...changesOf('package', before.packages, after.packages).filter(isDifferent),
    ...changesOf('repository', before.repositories, after.repositories).filter(isDifferent),
  ];
}

const isDifferent = ({ before, after }: ContentsChange): boolean => before !== after;

/** Nothing can be said where one of both has no list. */
function changesOf(
  kind: ContentsChange['kind'],
  before: Readonly<Record<string, string | number>> | null,
  after: Readonly<Record<string, string | number>> | null,
): ContentsChange[] {
  if (before === null || after === null) return [];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.map((name) => ({ kind, name, before: valueOf(before, name), after: valueOf(after, name) }));
}

const valueOf = (values: Readonly<Record<string, string | number>>, name: string): string | number | null =>
  Object.hasOwn(values, name) ? (values[name] ?? null) : null;

/** Columns of `nodepool image-diff`. */
export const contentsChangeListing: Listing<ContentsChange> = [
  { key: 'kind', header: 'Kind', level: 'brief', value: ({ kind }) => kind },
  { key: 'name', header: 'Name', level: 'brief', value: ({ name }) => name },
  valueColumn('before', 'Before'),
  valueColumn('after', 'After'),
  { key: 'change', header: 'Change', level: 'brief', value: changeOf },
];

function valueColumn(key: 'before' | 'after', header: string): Column<ContentsChange> {
  return {
    ...{ key, header, level: 'brief' },
    value: (change) => change[key],
    cell: ({ [key]: value }) => (typeof value === 'number' ? mebibytes(value) : (value ?? '')),
  };
}

const mebibytes = (bytes: number): string => `${(bytes / MEBIBYTE).toFixed(1)} MiB`;

function changeOf({ before, after }: ContentsChange): string {
  if (before === null) return 'added';
  if (after === null) return 'removed';
  if (typeof before !== 'number' || typeof after !== 'number') return 'changed';
  if (before === after) return 'same';
  const sign = after > before ? '+' : '-';
  const percent = before === 0 ? '' : ` (${sign}${((100 * Math.abs(after - before)) / before).toFixed(1)} %)`;
  return `${sign}${mebibytes(Math.abs(after - before))}${percent}`;
}
