import { type Document, parseDocument } from 'yaml';
import { LayoutScanner, type Padding } from './layout-scanner.js';
import type { SubstitutedText } from './substitute.js';
import { YAML_SCALARS } from './yaml-scalars.js';

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
