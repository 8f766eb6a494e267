import type { Json } from '@nodepool/zk-protocol';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import type { SourceDocument } from './source-document.js';
import type { YamlPath } from '../contract/yaml-path.js';

/** A list of named entries. */
export interface NamedList {
  readonly noun: string;
  readonly document: SourceDocument;
  readonly path: YamlPath;
  /** Default `name`. */
  readonly key?: string;
  /** Whether the last of several entries applies. Default: names must be unique. */
  readonly lastCounts?: boolean;
}

/** Reports every entry whose name repeats that of an earlier entry, at its own position even if it is an alias. */
export function reportDuplicates(list: Json | undefined, what: NamedList, problems: ProblemCollector): void {
  const { noun, document, path, key = 'name', lastCounts = false } = what;
  const first = new Map<string, number>();
  for (const { index, name } of namedEntries(list, key)) {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      continue;
    }
    const { line } = document.ownPositionOf([...path, earlier, key]);
    const message = `${noun} "${name}" is already defined in line ${line}`;
    const place = [...path, index, key];
    problems.add(document, place, lastCounts ? `${message}, the last one counts: remove the other` : message, {
      severity: lastCounts ? 'warning' : 'error',
      position: document.ownPositionOf(place),
    });
  }
}
