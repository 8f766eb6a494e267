import type { Json } from '@nodepool/zk-protocol';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import type { SourceDocument } from './source-document.js';
import type { YamlPath } from './yaml-path.js';

/** Reports every entry of a list whose name an earlier entry has already. */
export function reportDuplicates(
  list: Json | undefined,
  what: { noun: string; document: SourceDocument; path: YamlPath; key?: string },
  problems: ProblemCollector,
): void {
  const { noun, document, path, key = 'name' } = what;
  const first = new Map<string, number>();
  for (const { index, name } of namedEntries(list, key)) {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      continue;
    }
    const { line } = document.positionOf([...path, earlier, key]);
    problems.add(document, [...path, index, key], `${noun} "${name}" is already defined in line ${line}`);
  }
}
