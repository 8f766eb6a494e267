const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  null: 'nothing',
};

/** `text or an integer`. */
export function describeTypes(types: readonly string[]): string {
  const names = types.map((type) => TYPE_NAMES[type] ?? type);
  return joinAlternatives(names);
}

/** `a, b or c`. */
export function joinAlternatives(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} or ${last}`;
}

/**
 * Describes a value in words; with `reveal: false` only its kind.
 * @param written - scalar as written in the file
 */
export function describeValue(value: unknown, reveal: boolean, written?: string): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'string') return reveal ? `text ${JSON.stringify(shorten(value))}` : 'text';
  if (!reveal) return `a ${typeof value}`;
  return typeof value === 'number' ? `the number ${shorten(written ?? String(value))}` : JSON.stringify(value);
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
