import type { ApiPart } from './operation.js';

/** Several parts as one. */
export function joinParts(...parts: readonly ApiPart[]): ApiPart {
  return {
    operations: parts.flatMap(({ operations }) => operations),
    schemas: Object.assign({}, ...parts.map(({ schemas }) => schemas)) as ApiPart['schemas'],
  };
}
