import { type Document, parseDocument } from 'yaml';
import type { ScalarTag } from 'yaml';
import { LayoutScanner, type Padding } from './layout-scanner.js';
import type { SubstitutedText } from './substitute.js';

/** A parsed text. */
export interface ParsedText {
  readonly document: Document.Parsed;
  /** Text to which offsets in the document refer. */
  readonly source: SubstitutedText;
  /** Spaces added to the text, at offsets of the text before the additions. */
  readonly paddings: readonly Padding[];
}

/** Parses a text. Reads layouts that only PyYAML accepts as PyYAML does. */
export function parseText(source: SubstitutedText): ParsedText {
  const document = parse(source.text);
  const padded = document.errors.length === 0 ? undefined : padLayout(source);
  if (padded === undefined) return { document, source, paddings: [] };
  const second = parse(padded.substituted.text);
  if (second.errors.length > document.errors.length) return { document, source, paddings: [] };
  return { document: second, source: padded.substituted, paddings: padded.paddings };
}

function parse(text: string): Document.Parsed {
  return parseDocument(text, {
    schema: 'failsafe',
    customTags: (tags) => [...tags, ...YAML_SCALARS],
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
  });
}

/**
 * Adds spaces that the YAML parser requires and PyYAML does not, because existing files were written for PyYAML.
 * @returns `undefined` if no spaces are missing, or brackets or quotes do not match
 */
function padLayout(
  source: SubstitutedText,
): { substituted: SubstitutedText; paddings: readonly Padding[] } | undefined {
  const paddings = new LayoutScanner(source.text).scan();
  if (paddings === undefined || paddings.length === 0) return undefined;
  let text = '';
  let copied = 0;
  const added: { readonly to: number; readonly toEnd: number; readonly before: number }[] = [];
  for (const [index, { offset, spaces }] of paddings.entries()) {
    text += source.text.slice(copied, offset);
    const before = (added[index - 1]?.before ?? 0) + spaces;
    added.push({ to: text.length, toEnd: text.length + spaces, before });
    text += ' '.repeat(spaces);
    copied = offset;
  }
  text += source.text.slice(copied);
  const unpadded = (offset: number): number => {
    const last = added.findLast(({ to }) => to <= offset);
    return last === undefined ? offset : Math.max(offset, last.toEnd) - last.before;
  };
  return {
    paddings,
    substituted: {
      text,
      originalOffset: (offset) => source.originalOffset(unpadded(offset)),
      isSubstituted: (start, end) => source.isSubstituted(unpadded(start), unpadded(end)),
    },
  };
}

/**
 * Tags for plain scalars of a configuration. These are the YAML 1.1 rules of PyYAML's safe loader, for which existing
 * files were written. They are narrower than the standard: `y` and `n` are text, `1e3` is text,
 * `0755` is octal, `1:30` is 90. Dates stay text, because JSON has none.
 */
export const YAML_SCALARS: ScalarTag[] = [
  {
    tag: 'tag:yaml.org,2002:null',
    default: true,
    test: /^(?:~|null|Null|NULL|)$/,
    resolve: () => null,
  },
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
    resolve: (text) => /^(?:yes|true|on)$/i.test(text),
  },
  {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test: /^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
    resolve: (text, onError) => {
      const value = parseInteger(text);
      if (Number.isNaN(value)) onError(`${text} is not an integer`);
      return value;
    },
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    resolve: (text, onError) => {
      const value = parseFloatingPoint(text);
      if (Number.isNaN(value) && !/nan/i.test(text)) onError(`${text} is not a number`);
      return value;
    },
  },
];

function parseInteger(text: string): number {
  const { sign, digits } = splitSign(text);
  if (/^0b/.test(digits)) return sign * Number(digits);
  if (/^0x/.test(digits)) return sign * Number(digits);
  if (digits.includes(':')) return sign * sexagesimal(digits);
  if (/^0[0-7]+$/.test(digits)) return sign * Number.parseInt(digits, 8);
  return /^[0-9]+$/.test(digits) ? sign * Number(digits) : Number.NaN;
}

function parseFloatingPoint(text: string): number {
  const { sign, digits } = splitSign(text);
  if (/^\.inf$/i.test(digits)) return sign * Infinity;
  if (/^\.nan$/i.test(digits)) return Number.NaN;
  return sign * (digits.includes(':') ? sexagesimal(digits) : Number(digits));
}

function splitSign(text: string): { sign: 1 | -1; digits: string } {
  return { sign: text.startsWith('-') ? -1 : 1, digits: text.replace(/^[-+]/, '').replaceAll('_', '') };
}

/** `1:30` is one minute thirty: base 60. */
function sexagesimal(digits: string): number {
  return digits.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}
