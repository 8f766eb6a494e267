import type { Json } from '@nodepool/zk-protocol';
import type { YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';
import { unresolvedNames, unresolvedReference } from './syntax-problems.js';

/**
 * Checks every value as written: warns of integers too large to be represented, and of text with unset variables. Skips
 * values that already have an error.
 */
export function checkWrittenValues(document: SourceDocument, problems: ProblemCollector): void {
  const seen = new Set<Json>();
  const visit = (value: Json, path: YamlPath): void => {
    if (typeof value === 'number') checkSize(value, path, document, problems);
    else if (typeof value === 'string') checkReferences(value, path, document, problems);
    else if (value !== null && typeof value === 'object' && !seen.has(value)) {
      seen.add(value);
      const children = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
      for (const [key, child] of children) visit(child, [...path, key]);
    }
  };
  visit(document.value, []);
}

function checkSize(value: number, path: YamlPath, document: SourceDocument, problems: ProblemCollector): void {
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || problems.hasErrorAt(document, path)) return;
  const message = `the number has too many digits to be kept and is taken as ${value}: put it in quotes if it is text`;
  problems.add(document, path, message, { severity: 'warning' });
}

function checkReferences(value: string, path: YamlPath, document: SourceDocument, problems: ProblemCollector): void {
  const [name] = unresolvedNames(value);
  if (name === undefined || problems.hasErrorAt(document, path)) return;
  problems.add(document, path, unresolvedReference(name), { severity: 'warning' });
}
