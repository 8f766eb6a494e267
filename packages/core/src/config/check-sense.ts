import { isAbsolute } from 'node:path';
import { listOf, mapOf, numberOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { ProviderConfig } from '../contract/provider-config.js';
import type { ProblemCollector } from './problems.js';
import { countingEntries, namedEntries } from './raw-values.js';
import type { SourceDocument } from './source-document.js';
import type { YamlPath } from '../contract/yaml-path.js';

/** Source of positions, and collector of problems. */
export interface SenseCheck {
  readonly document: SourceDocument;
  readonly problems: ProblemCollector;
}

/** Warns of implausible numbers that Nodepool (Python) accepts, such as a negative limit. */
export function checkSense(top: JsonObject, check: SenseCheck): void {
  inEach(top, 'labels', { 'min-ready': minReady, 'max-ready-age': age('ready nodes are never too old') }, check);
  inEach(top, 'diskimages', { 'rebuild-age': duration, 'build-timeout': duration }, check);
  report(top['max-hold-age'], maxHoldAge, ['max-hold-age'], check);
  checkCaKey(top, check);
  for (const { index, entry } of namedEntries(top['tenant-resource-limits'], 'tenant-name')) {
    for (const key of Object.keys(entry)) {
      report(entry[key], tenantLimit, ['tenant-resource-limits', index, key], check);
    }
  }
}

function checkCaKey(top: JsonObject, { document, problems }: SenseCheck): void {
  const file = textOf(top['lease-ca-key']);
  if (file === undefined || isAbsolute(file)) return;
  const message = `"${file}" is no absolute path: write the whole path of the private key, from /`;
  problems.add(document, ['lease-ca-key'], message);
}

/** Warns of implausible limits of pools. @param config - configuration that the driver read from the entry */
export function checkPoolLimits(config: ProviderConfig, entry: JsonObject, index: number, check: SenseCheck): void {
  for (const pool of countingEntries(entry['pools'])) {
    const path = ['providers', index, 'pools', pool.index];
    report(pool.entry['max-servers'], maxServers, [...path, 'max-servers'], check);
    for (const [name, limit] of Object.entries(config.pools.get(pool.name)?.maxResources ?? {})) {
      report(limit, poolLimit, [...path, `max-${name}`], check);
    }
  }
}

/** Describes the problem of a number; `undefined` if it has none. */
type Rule = (value: number) => string | undefined;

const minReady: Rule = (value) =>
  value >= -1 ? undefined : `${value} keeps no free nodes, as 0 does; to switch the label off write -1`;

const maxHoldAge: Rule = (value) => (value >= 0 ? undefined : `${value} means no limit: write 0, or leave it out`);

const maxServers: Rule = (value) =>
  value >= 0 ? undefined : `${value} switches the pool off, as 0 does; for no limit leave it out`;

const tenantLimit = negative(
  (value) => `${value} gives the tenant nothing; write 0 for nothing, or leave it out for no limit`,
);
const poolLimit = negative((value) => `${value} lets no node be made; for no limit leave it out`);
const duration = negative((value) => `expected a number of seconds, got ${value}`);

function age(meaning: string): Rule {
  return negative((value) => `${value} is no age; write 0, or leave it out: ${meaning}`);
}

function negative(describe: (value: number) => string): Rule {
  return (value) => (value >= 0 ? undefined : describe(value));
}

function inEach(top: JsonObject, list: string, rules: Readonly<Record<string, Rule>>, check: SenseCheck): void {
  for (const [index, item] of listOf(top[list]).entries()) {
    for (const [key, rule] of Object.entries(rules)) report(mapOf(item)[key], rule, [list, index, key], check);
  }
}

function report(value: Json | undefined, rule: Rule, path: YamlPath, { document, problems }: SenseCheck): void {
  const number = numberOf(value);
  const message = number === undefined ? undefined : rule(number);
  if (message !== undefined) problems.add(document, path, message, { severity: 'warning' });
}
