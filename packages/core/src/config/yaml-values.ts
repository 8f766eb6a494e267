import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml';
import type { Json } from '@nodepool/zk-protocol';
import type { ConfigProblem } from '../contract/config.js';
import type { YamlPath } from '../contract/yaml-path.js';
import { pythonNumber } from './python-number.js';

/** Receives the problems that the converter finds. */
export type NodeReporter = (
  node: Node | null,
  path: YamlPath,
  message: string,
  severity: ConfigProblem['severity'],
) => void;

/** Converts the syntax tree to plain data. Aliases share one value, so that deeply nested ones cost nothing. */
export class YamlConverter {
  readonly #anchors = new Map<string, Node>();
  readonly #values = new Map<Node, Json>();
  readonly #open = new Set<Node>();

  constructor(
    private readonly aliasTargets: Map<Node, Node>,
    private readonly report: NodeReporter,
  ) {}

  /** Returns the value of a node. Reports an invalid value and returns `null`. */
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
    // Object.fromEntries creates own properties of any name, `__proto__` included.
    return Object.fromEntries([...merged, ...own]);
  }

  #keyName(key: Node, path: YamlPath): string {
    const value = this.convert(key, path);
    if (typeof value === 'string') return value;
    if (value !== null && typeof value === 'object') {
      this.report(key, path, 'this key is a list or a map, expected text', 'error');
      return 'this key';
    }
    const name = isScalar(key) ? nameOfScalar(key) : String(value);
    const kind = value === null ? 'nothing' : `a ${typeof value}`;
    this.report(key, path, `this key is ${kind}, taken as the text "${name}": put it in quotes`, 'warning');
    return name;
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

/** Whether a pair is `<<: *base`, whose value is merged into the map. */
export function isMergePair(pair: Pair<Node, Node | null>): boolean {
  return isScalar(pair.key) && pair.key.value === '<<' && pair.key.type === 'PLAIN';
}

/** A key as text. Other keys are named as in JSON, as in records and requests to clouds. */
export function nameOfScalar({ value, source }: Scalar): string {
  return typeof value === 'number' ? pythonNumber(value, source) : String(value);
}
