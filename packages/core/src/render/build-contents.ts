import type { Column, Listing } from './listing.js';

/** Contents of a build. */
export interface BuildContents {
  /** Bytes of each image file, by format. */
  readonly sizes: Readonly<Record<string, number>>;
  /** Versions of packages by name; `null`: the build has no list of them. */
  readonly packages: Readonly<Record<string, string>> | null;
  /** Commits of source repositories by name; `null`: the build has no list of them. */
  readonly repositories: Readonly<Record<string, string>> | null;
}

/** A difference between two builds, or the sizes of one of their files. */
export interface ContentsChange {
  readonly kind: 'package' | 'repository' | 'size';
  readonly name: string;
  /** `null` if missing in the older build. */
  readonly before: string | number | null;
  /** `null` if missing in the newer build. */
  readonly after: string | number | null;
}

const MEBIBYTE = 1_048_576;

/** JSON of a builder's `/image-contents`. */
export function buildContentsToJson(contents: BuildContents): string {
  return `${JSON.stringify(contents)}\n`;
}

/** Parses the response of a builder. @returns `undefined` for anything else, such as an error page of a proxy */
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

/** Lists the sizes of both builds, equal or not, then packages and repositories that differ. */
export function compareContents(before: BuildContents, after: BuildContents): ContentsChange[] {
  return [
    ...changesOf('size', before.sizes, after.sizes),
    ...changesOf('package', before.packages, after.packages).filter(isDifferent),
    ...changesOf('repository', before.repositories, after.repositories).filter(isDifferent),
  ];
}

const isDifferent = ({ before, after }: ContentsChange): boolean => before !== after;

/** Compares two lists. Returns no changes if either list is missing. */
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
