import type { Body } from '../api.js';

/** Plural names of the kinds that the driver and its fake use. */
const KINDS = (
  'namespaces pods serviceaccounts token secrets roles rolebindings resourcequotas limitranges configmaps bindings ' +
  'selfsubjectrulesreviews status'
).split(' ');
const API = /^\/(api\/v1|apis\/(?:rbac\.)?authorization\.k8s\.io\/v1)\/(.+)$/;
/** Definitions that no operation names: events of watches, and refusals. */
const ALWAYS = ['io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent', 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'];

/** The parts of the OpenAPI document of a server. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Body>>;
  readonly definitions: Readonly<Record<string, Body>>;
}

/** The parts of the document that concern calls of the driver, without texts. */
export function storedParts({ paths, definitions }: OpenApi): OpenApi {
  const used = Object.entries(paths).filter(([path]) => isUsed(path));
  const kept: Record<string, Body> = {};
  const waiting = [...ALWAYS, ...referencesIn(used)];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const definition = definitions[name];
    if (!definition || name in kept) continue;
    kept[name] = withoutTexts(definition) as Body;
    waiting.push(...referencesIn(definition));
  }
  return { paths: withoutTexts(Object.fromEntries(used)) as OpenApi['paths'], definitions: sorted(kept) };
}

function isUsed(path: string): boolean {
  const names = API.exec(path)?.[2]
    ?.split('/')
    .filter((part) => !part.startsWith('{')) ?? ['none'];
  return names.every((name) => KINDS.includes(name)) && !path.includes('/watch/');
}

function referencesIn(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(([, name = '']) => name);
}

const TEXTS = new Set(['description', 'produces', 'consumes', 'schemes', 'tags', 'operationId', 'x-kubernetes-action']);

/** A property may have the name of a text, such as `description`: then its value is an object. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, one]) => !TEXTS.has(key) || isMap(one));
  return sorted(Object.fromEntries(kept.map(([key, one]) => [key, withoutTexts(one)])));
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted<T>(map: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1)));
}
