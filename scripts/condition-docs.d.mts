/** A type of condition, as the file that finds it has it. */
export interface DocumentedType {
  readonly kind: string;
  readonly severity: string;
  readonly meaning: string;
  readonly reasons: Readonly<Record<string, string>> | 'errors';
  readonly nextStep: string;
}
export function findTypes(
  load: (file: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<[string, DocumentedType][]>;
export function conditionLists(sources: {
  types: readonly (readonly [string, DocumentedType])[];
  errorReasons: Readonly<Record<string, { readonly meaning: string; readonly nextStep: string }>>;
}): Record<string, string>;
