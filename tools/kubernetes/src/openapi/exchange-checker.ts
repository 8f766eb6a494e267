import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import type { Body } from '../api.js';
import type { OpenApi } from './stored-parts.js';

/** One call and its answer. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
  readonly status: number;
  readonly answer: Body;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly schema?: Reference }>>;
}
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema?: Reference;
}
interface Reference {
  readonly $ref: string;
}

/** Projects are no part of the document of Kubernetes. */
const OUTSIDE = '/apis/project.openshift.io/';
const STATUS = '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status';
/** What the fake adds, to follow watches. */
const OWN_PARAMETERS = ['watchId'];

/** Checks calls and answers against the OpenAPI document of kube-apiserver. */
export class ExchangeChecker {
  readonly #document: OpenApi;
  readonly #ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  readonly #known = new Map<string, ValidateFunction>();

  constructor(document: OpenApi = storedDocument()) {
    this.#document = document;
    const definitions = Object.entries(document.definitions).map(([name, one]) => [name, closed(one)] as const);
    this.#ajv.addSchema({ $id: 'kubernetes', definitions: Object.fromEntries(definitions) });
  }

  /** @returns what contradicts the document */
  check({ method, url, body, status, answer }: Exchange): string[] {
    if (url.pathname.startsWith(OUTSIDE)) return [];
    const what = `${method} ${url.pathname}`;
    const found = this.#operation(method, url.pathname);
    if (!found) return status === 404 ? [] : [`${what}: the document has no such call`];
    const { operation, parameters } = found;
    const known = new Set([...parameters.map(({ name }) => name), ...OWN_PARAMETERS]);
    const unknown = [...url.searchParams.keys()].filter((name) => !known.has(name));
    const asked = parameters.find((one) => one.in === 'body')?.schema;
    return [
      ...unknown.map((name) => `${what}: parameter "${name}" is not known`),
      ...(body !== undefined && asked ? this.#validate(`${what}: body`, asked.$ref, body) : []),
      ...this.#checkAnswer(what, method, operation, status, answer),
    ];
  }

  /** An event of a watch. @returns what contradicts the document */
  checkEvent({ pathname }: URL, { type, object }: { readonly type: string; readonly object: Body }): string[] {
    // a bookmark has nothing but a version
    if (pathname.startsWith(OUTSIDE) || type === 'BOOKMARK') return [];
    const list = this.#operation('GET', pathname)?.operation.responses['200']?.schema?.$ref;
    const kind = type === 'ERROR' ? STATUS : list?.replace(/List$/, '');
    return kind === undefined ? [] : this.#validate(`event ${type} of ${pathname}`, kind, object);
  }

  #checkAnswer(what: string, method: string, operation: Operation, status: number, answer: Body): string[] {
    if (status >= 400) return this.#validate(`${what}: ${status}`, STATUS, answer);
    const documented = operation.responses[String(status)];
    if (!documented) return [`${what}: the document has no answer ${status}`];
    const schema = documented.schema?.$ref;
    if (schema === undefined) return [];
    // an object that is not gone at once is the answer, instead of a status
    const isObject = method === 'DELETE' && answer['kind'] !== 'Status';
    return isObject ? [] : this.#validate(`${what}: ${status}`, schema, answer);
  }

  #validate(what: string, reference: string, value: unknown): string[] {
    const validate = this.#known.get(reference) ?? this.#ajv.compile({ $ref: `kubernetes${reference}` });
    this.#known.set(reference, validate);
    const kinds = this.#kindsOf(reference);
    const kind = (value as { kind?: unknown } | null)?.kind;
    const isOther = typeof kind === 'string' && kinds.length > 0 && !kinds.includes(kind);
    const wrongKind = isOther ? [`${what}: kind ${kind}, expected ${kinds.join(' or ')}`] : [];
    if (validate(value)) return wrongKind;
    const errors = validate.errors ?? [];
    return [
      ...wrongKind,
      ...errors.map(
        ({ instancePath, message = '', params }) => `${what}: ${instancePath} ${message} ${JSON.stringify(params)}`,
      ),
    ];
  }

  #kindsOf(reference: string): string[] {
    const definition = this.#document.definitions[reference.replace('#/definitions/', '')];
    const kinds = (definition?.['x-kubernetes-group-version-kind'] ?? []) as { readonly kind: string }[];
    return kinds.map(({ kind }) => kind);
  }

  #operation(method: string, pathname: string): { operation: Operation; parameters: Parameter[] } | undefined {
    for (const [path, item] of Object.entries(this.#document.paths)) {
      if (!new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)) continue;
      const operation = item[method.toLowerCase()] as Operation | undefined;
      const common = (item['parameters'] ?? []) as Parameter[];
      return operation && { operation, parameters: [...common, ...(operation.parameters ?? [])] };
    }
    return undefined;
  }
}

/** Objects may have no properties but those of their definition. */
function closed(definition: Body): Body {
  const isClosed = 'properties' in definition && !('additionalProperties' in definition);
  return isClosed ? { ...definition, additionalProperties: false } : definition;
}

function storedDocument(): OpenApi {
  return JSON.parse(readFileSync(new URL('../fixtures/openapi.json', import.meta.url), 'utf8')) as OpenApi;
}
