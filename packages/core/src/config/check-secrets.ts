import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { YamlPath } from '../contract/yaml-path.js';
import { providerSchema } from './provider-schema.js';
import type { FileCheck } from './file-check.js';
import { mapOf, namedEntries, textOf } from './raw-values.js';
import { redactConfig, REDACTED } from './redact.js';

/** Names of keys and variables that certainly hold secrets. Other names are not reported. */
const SECRET_NAME =
  /(^|[_-])(pass|password|passwd|secret|token|credentials|private[_-]key|api[_-]key|access[_-]key)($|[_-])/i;

/** Warns of secrets in the main file, which is often in a repository and widely readable. */
export function checkSecrets(top: JsonObject, check: FileCheck): void {
  const password = textOf(mapOf(top['zookeeper-digest'])['password']);
  if (password !== undefined) report(['zookeeper-digest', 'password'], 'put it into the secure file (-s)', check);
  for (const { index, entry } of namedEntries(top['diskimages'])) {
    for (const key of Object.keys(mapOf(entry['env-vars'])).filter((name) => SECRET_NAME.test(name))) {
      report(['diskimages', index, 'env-vars', key], 'put it into the secure file (-s)', check);
    }
  }
  for (const { index, name, entry } of namedEntries(top['providers'])) {
    const driver = check.drivers.get(name);
    if (driver === undefined) continue;
    for (const path of redactedPaths(redactConfig(entry, providerSchema(driver)), [])) {
      if (!path.some((part) => typeof part === 'string' && SECRET_NAME.test(part))) continue;
      report(['providers', index, ...path], 'write %(NODEPOOL_...) and set that environment variable', check);
    }
  }
}

/** Reports a secret, unless its value comes from the environment. */
function report(path: YamlPath, advice: string, { document, problems }: FileCheck): void {
  if (document.isFromEnvironment(path)) return;
  problems.add(document, path, `this secret is in the main file: ${advice}`, { severity: 'warning' });
}

function redactedPaths(value: Json, path: YamlPath): YamlPath[] {
  if (value === REDACTED) return [path];
  if (value === null || typeof value !== 'object') return [];
  const children: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return children.flatMap(([key, child]) => redactedPaths(child, [...path, key]));
}
