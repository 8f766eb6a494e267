import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, type YAMLMap } from 'yaml';
import type { Json } from '@nodepool/zk-protocol';
import type { ConfigProblem, SourcePosition } from '../contract/config.js';
import type { SubstitutedText } from './substitute.js';
import { formatPath, type YamlPath } from '../contract/yaml-path.js';
import { parseText } from './lenient-layout.js';
import { lineStarts, withKnownLineEnds } from './line-ends.js';
import { describeSyntaxError } from './syntax-problems.js';
import { isMergePair, nameOfScalar, type NodeReporter, YamlConverter } from './yaml-values.js';

/** A scalar as written in the file, after substitution. */
export interface WrittenScalar {
  /** Text without quotes, e.g. `0755` for the value 493. */
  readonly text: string;
  /** Whether the scalar has no quotes. */
  readonly isPlain: boolean;
}

/** A parsed file with the position of every value. */
export interface SourceDocument {
  readonly file: string;
  /** Plain data; aliases share values. `null` for an empty file. */
  readonly value: Json;
  /** Syntax errors, and warnings such as duplicate keys. */
  readonly problems: readonly ConfigProblem[];
  /** Start of a value, or of its nearest existing ancestor if the value does not exist. */
  positionOf(path: YamlPath): SourcePosition;
  /** Start of the key of a value. */
  keyPositionOf(path: YamlPath): SourcePosition;
  /** As `positionOf`, but returns the position of the alias if the value or an enclosing one is an alias. */
  ownPositionOf(path: YamlPath): SourcePosition;
  /** The value as written; `undefined` for maps, lists and missing values. */
  scalarAt(path: YamlPath): WrittenScalar | undefined;
  /** Whether the key of a value is written as text, not as a number, boolean or null. */
  isTextKey(path: YamlPath): boolean;
  /** Whether the value may contain text of an environment variable, which must not be shown. */
  isFromEnvironment(path: YamlPath): boolean;
}

/**
 * Parses one YAML document after substitution. Never throws: errors are in `problems`, and `value` is `null` after a
 * syntax error.
 * @param written - text of the file on disk
 */
export function parseSource(file: string, written: string, substituted: SubstitutedText): SourceDocument {
  const lines = new LineCounter();
  for (const start of lineStarts(written)) lines.addNewLine(start);

  const { document, source, paddings } = parseText({ ...substituted, text: withKnownLineEnds(substituted.text) });
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const parsed = new ParsedDocument(file, document, source, (offset) => positionAt(source.originalOffset(offset)));
  for (const { offset, kind } of paddings) {
    if (kind === 'none') continue;
    const position = positionAt(substituted.originalOffset(offset));
    parsed.problems.push({ severity: 'warning', position, path: '', message: LAYOUTS[kind] });
  }
  return parsed;
}

/** Warnings about layouts that PyYAML accepts and YAML forbids. */
const LAYOUTS = {
  margin: 'this line continues a value and begins no further right than the key of that value: indent it more',
  comment: 'this comment begins right behind another token: put a space before the "#"',
} as const;

interface Step {
  readonly key: Node | undefined;
  readonly value: Node | null;
  /** Whether the pair comes from another map, by `<<`. */
  readonly isMerged: boolean;
}

interface FoundNode {
  readonly key: Node | undefined;
  readonly value: Node | null;
  /** First alias on the path, or the map that merged the rest of the path by `<<`. */
  readonly alias: Node | undefined;
  /** Number of existing parts of the path. */
  readonly depth: number;
}

class ParsedDocument implements SourceDocument {
  readonly value: Json;
  readonly problems: ConfigProblem[] = [];
  readonly #aliasTargets = new Map<Node, Node>();

  constructor(
    readonly file: string,
    private readonly document: Document.Parsed,
    private readonly substituted: SubstitutedText,
    private readonly positionAt: (offset: number) => SourcePosition,
  ) {
    this.#collectSyntaxProblems();
    const broken = this.problems.length > 0;
    this.value = broken ? null : new YamlConverter(this.#aliasTargets, this.#report).convert(document.contents, []);
  }

  positionOf(path: YamlPath): SourcePosition {
    return this.positionAt(offsetOf(this.#find(path).value) ?? 0);
  }

  keyPositionOf(path: YamlPath): SourcePosition {
    const { key, value } = this.#find(path);
    return this.positionAt(offsetOf(key) ?? offsetOf(value) ?? 0);
  }

  ownPositionOf(path: YamlPath): SourcePosition {
    const { value, alias } = this.#find(path);
    return this.positionAt(offsetOf(alias ?? value) ?? 0);
  }

  scalarAt(path: YamlPath): WrittenScalar | undefined {
    const { value, depth } = this.#find(path);
    if (depth < path.length || !isScalar(value)) return undefined;
    return { text: value.source ?? String(value.value), isPlain: value.type === 'PLAIN' };
  }

  isTextKey(path: YamlPath): boolean {
    const { key } = this.#find(path);
    return isScalar(key) && typeof key.value === 'string';
  }

  isFromEnvironment(path: YamlPath): boolean {
    const range = this.#find(path).value?.range;
    return range ? this.substituted.isSubstituted(range[0], range[1]) : false;
  }

  #collectSyntaxProblems(): void {
    // PyYAML accepts irregular indentation of flow collections.
    const warnings = this.document.warnings.filter((warning) => warning.code === 'TAG_RESOLVE_FAILED');
    for (const error of [...this.document.errors, ...warnings]) {
      const position = this.positionAt(error.pos[0]);
      const message = describeSyntaxError(error, this.substituted.text);
      this.problems.push({ severity: 'error', position, path: '', message });
    }
  }

  readonly #report: NodeReporter = (node, path, message, severity) => {
    this.problems.push({ severity, position: this.positionAt(offsetOf(node) ?? 0), path: formatPath(path), message });
  };

  /** Finds the deepest existing node of the path. */
  #find(path: YamlPath): FoundNode {
    let value = this.#dereference(this.document.contents);
    let key: Node | undefined;
    let alias: Node | undefined;
    let depth = 0;
    for (const part of path) {
      const step = this.#step(value, part);
      if (step === undefined) break;
      depth += 1;
      key = step.key;
      alias ??= aliasOn(step, value);
      value = this.#dereference(step.value) ?? step.key ?? null;
    }
    return { key, value, alias, depth };
  }

  #step(value: Node | null, part: string | number): Step | undefined {
    if (isSeq(value) && typeof part === 'number') {
      const item = value.items[part] as Node | undefined;
      return item && { key: undefined, value: item, isMerged: false };
    }
    if (!isMap(value)) return undefined;
    const pair = this.#findPair(value, String(part));
    return pair && { key: pair.key, value: pair.value, isMerged: !value.items.includes(pair) };
  }

  #findPair(map: YAMLMap, name: string): Pair<Node, Node | null> | undefined {
    const pairs = map.items as Pair<Node, Node | null>[];
    const own = pairs.findLast((pair) => isScalar(pair.key) && nameOfScalar(pair.key) === name);
    if (own !== undefined) return own;
    for (const pair of pairs.filter(isMergePair)) {
      const source = this.#dereference(pair.value);
      const sources = isSeq(source) ? source.items.map((item) => this.#dereference(item as Node)) : [source];
      for (const merged of sources) {
        const found = isMap(merged) ? this.#findPair(merged, name) : undefined;
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  #dereference(node: Node | null): Node | null {
    return node !== null && isAlias(node) ? (this.#aliasTargets.get(node) ?? node) : node;
  }
}

function aliasOn({ value, isMerged }: Step, parent: Node | null): Node | undefined {
  if (isMerged) return parent ?? undefined;
  return value !== null && isAlias(value) ? value : undefined;
}

function offsetOf(node: Node | null | undefined): number | undefined {
  return node?.range?.[0];
}
