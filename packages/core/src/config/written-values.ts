import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import { mapOf, namedEntries } from './raw-values.js';
import type { SourceDocument } from './source-document.js';
import { unresolvedNames, unresolvedReference } from './syntax-problems.js';

/**
 * Numbers and booleans among the `env-vars` of diskimages become the text that stands in the file: an environment has
 * texts only, and files are full of `DIB_CHECKSUM: 1`. Changes the values in place.
 */
export function takeEnvVarsAsWritten(top: JsonObject, document: SourceDocument, problems: ProblemCollector): void {
  for (const { index, entry } of namedEntries(top['diskimages'])) {
    const envVars = mapOf(entry['env-vars']);
    for (const [key, value] of Object.entries(envVars)) {
      if (typeof value !== 'number' && typeof value !== 'boolean') continue;
      const path = ['diskimages', index, 'env-vars', key];
      const { text } = document.scalarAt(path) ?? { text: String(value) };
      envVars[key] = text;
      const kind = typeof value === 'number' ? 'number' : 'boolean';
      const message = `this ${kind} is taken as the text that stands here: put it in quotes`;
      problems.add(document, path, message, { severity: 'warning' });
    }
  }
}

/**
 * Looks at every value as it was written: integers that are too large to be kept are errors, texts with variables that
 * are not set are warnings. What has an error already is passed over.
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
  const message = `the number has too many digits to be kept, expected at most ${Number.MAX_SAFE_INTEGER}: put it in quotes if it is text`;
  problems.add(document, path, message);
}

function checkReferences(value: string, path: YamlPath, document: SourceDocument, problems: ProblemCollector): void {
  const [name] = unresolvedNames(value);
  if (name === undefined || problems.hasErrorAt(document, path)) return;
  problems.add(document, path, unresolvedReference(name), { severity: 'warning' });
}
