/** A type of condition, as the table of core has it. */
export interface DocumentedType {
  readonly kind: string;
  readonly severity: string;
  readonly meaning: string;
  readonly reasons: Readonly<Record<string, string>> | 'errors';
  readonly nextStep: string;
}
export function conditionLists(sources: {
  types: Readonly<Record<string, DocumentedType>>;
  errorReasons: Readonly<Record<string, { readonly meaning: string; readonly nextStep: string }>>;
}): Record<string, string>;
