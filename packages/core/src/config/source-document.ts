import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import type { Json } from '@nodepool/zk-protocol';
import type { ConfigProblem, SourcePosition } from './types.js';
import type { SubstitutedText } from './substitute.js';
import { formatPath, type YamlPath } from './yaml-path.js';
import { YAML_SCALARS } from './yaml-scalars.js';

/** A parsed file whose every value still knows where it was written. */
export interface SourceDocument {
  readonly file: string;
  /** Plain data; shared where the file uses aliases. `null` for an empty file. */
  readonly value: Json;
  /** Syntax errors, and warnings such as keys given twice. */
  readonly problems: readonly ConfigProblem[];
  /** Where a value begins; where its nearest existing ancestor begins when there is no such value. */
  positionOf(path: YamlPath): SourcePosition;
  /** Where the key of a value begins. */
  keyPositionOf(path: YamlPath): SourcePosition;
  /** Whether the value may hold text that came from an environment variable, and must not be shown. */
  isFromEnvironment(path: YamlPath): boolean;
}

/**
 * Parses one YAML document after substitution. Never throws: what is wrong is in `problems`, and `value` is `null` when
 * the syntax is broken.
 * @param written - the file's text as it stands on disk
 */
export function parseSource(file: string, written: string, substituted: SubstitutedText): SourceDocument {
  const lines = new LineCounter();
  let start = 0;
  do lines.addNewLine(start);
  while ((start = written.indexOf('\n', start) + 1) > 0);

  const document = parseDocument(substituted.text, {
    schema: 'failsafe',
    customTags: (tags) => [...tags, ...YAML_SCALARS],
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
  });
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(substituted.originalOffset(offset));
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  return new ParsedDocument(file, document, substituted, positionAt);
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
    this.value = broken ? null : new Converter(this.#aliasTargets, this.#report).convert(document.contents, []);
  }

  positionOf(path: YamlPath): SourcePosition {
    return this.positionAt(offsetOf(this.#find(path).value) ?? 0);
  }

  keyPositionOf(path: YamlPath): SourcePosition {
    const { key, value } = this.#find(path);
    return this.positionAt(offsetOf(key) ?? offsetOf(value) ?? 0);
  }

  isFromEnvironment(path: YamlPath): boolean {
    const range = this.#find(path).value?.range;
    return range ? this.substituted.isSubstituted(range[0], range[1]) : false;
  }

  #collectSyntaxProblems(): void {
    // Odd indentation of flow collections is accepted by the readers installations are used to.
    const warnings = this.document.warnings.filter((warning) => warning.code === 'TAG_RESOLVE_FAILED');
    for (const { pos, message } of [...this.document.errors, ...warnings]) {
      const reason = message.split('\n')[0] ?? message;
      this.problems.push({
        severity: 'error',
        position: this.positionAt(pos[0]),
        path: '',
        message: `YAML parsing failed: ${reason}`,
      });
    }
  }

  readonly #report = (
    node: Node | null,
    path: YamlPath,
    message: string,
    severity: ConfigProblem['severity'],
  ): void => {
    this.problems.push({ severity, position: this.positionAt(offsetOf(node) ?? 0), path: formatPath(path), message });
  };

  /** Goes down as far as the path exists. */
  #find(path: YamlPath): { key: Node | undefined; value: Node | null } {
    let value = this.#dereference(this.document.contents);
    let key: Node | undefined;
    for (const part of path) {
      if (isSeq(value) && typeof part === 'number') {
        const item = value.items[part] as Node | undefined;
        if (item === undefined) break;
        key = undefined;
        value = this.#dereference(item);
      } else if (isMap(value)) {
        const pair = this.#findPair(value, String(part));
        if (pair === undefined) break;
        key = pair.key;
        value = this.#dereference(pair.value) ?? pair.key;
      } else break;
    }
    return { key, value };
  }

  #findPair(map: YAMLMap, name: string): Pair<Node, Node | null> | undefined {
    const pairs = map.items as Pair<Node, Node | null>[];
    const own = pairs.findLast((pair) => isScalar(pair.key) && String(pair.key.value) === name);
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

/** Turns the syntax tree into plain data. Aliases share one value, so that deep nesting of them costs nothing. */
class Converter {
  readonly #anchors = new Map<string, Node>();
  readonly #values = new Map<Node, Json>();
  readonly #open = new Set<Node>();

  constructor(
    private readonly aliasTargets: Map<Node, Node>,
    private readonly report: (
      node: Node | null,
      path: YamlPath,
      message: string,
      severity: ConfigProblem['severity'],
    ) => void,
  ) {}

  convert(node: Node | null, path: YamlPath): Json {
    if (node === null) return null;
    if (isAlias(node)) return this.#convertAlias(node, node.source, path);
    const anchor = 'anchor' in node ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    if (isScalar(node)) {
      const value = node.value as Json;
      if (anchor !== undefined) this.#values.set(node, value);
      return value;
    }
    this.#open.add(node);
    const value = isMap(node) ? this.#convertMap(node, path) : isSeq(node) ? this.#convertList(node.items, path) : null;
    this.#open.delete(node);
    if (anchor !== undefined) this.#values.set(node, value);
    return value;
  }

  #convertAlias(alias: Node, name: string, path: YamlPath): Json {
    const target = this.#anchors.get(name);
    if (target === undefined || this.#open.has(target)) {
      const what = target === undefined ? 'refers to no anchor before it' : 'contains itself';
      this.report(alias, path, `the alias *${name} ${what}`, 'error');
      return null;
    }
    this.aliasTargets.set(alias, target);
    return this.#values.get(target) ?? null;
  }

  #convertList(items: readonly unknown[], path: YamlPath): Json {
    return items.map((item, index) => this.convert(item as Node | null, [...path, index]));
  }

  #convertMap(map: YAMLMap, path: YamlPath): Json {
    const merged = new Map<string, Json>();
    const own = new Map<string, Json>();
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      if (isMergePair(pair)) {
        this.#merge(merged, pair, path);
        continue;
      }
      const name = this.#keyName(pair.key, path);
      const value = this.convert(pair.value, [...path, name]);
      if (own.has(name))
        this.report(pair.key, path, `the key "${name}" is given twice, the last one counts`, 'warning');
      own.set(name, value);
    }
    // Object.fromEntries makes own properties of any name, `__proto__` included.
    return Object.fromEntries([...merged, ...own]);
  }

  #keyName(key: Node, path: YamlPath): string {
    const value = this.convert(key, path);
    if (typeof value === 'string') return value;
    const shown = typeof value === 'object' ? 'this key' : `the key ${String(value)}`;
    this.report(key, path, `${shown} is not text, expected text: put it in quotes`, 'error');
    return shown;
  }

  #merge(into: Map<string, Json>, pair: Pair<Node, Node | null>, path: YamlPath): void {
    const value = this.convert(pair.value, path);
    for (const source of Array.isArray(value) ? value : [value]) {
      if (source === null || typeof source !== 'object' || Array.isArray(source)) {
        this.report(pair.key, path, '"<<" takes in the keys of maps, expected a map or a list of maps', 'error');
        continue;
      }
      for (const [name, item] of Object.entries(source)) if (!into.has(name)) into.set(name, item);
    }
  }
}

function isMergePair(pair: Pair<Node, Node | null>): boolean {
  return isScalar(pair.key) && pair.key.value === '<<' && pair.key.type === 'PLAIN';
}

function offsetOf(node: Node | null | undefined): number | undefined {
  return node?.range?.[0];
}
