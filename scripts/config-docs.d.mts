/** One key with its default and meaning. */
export interface Row {
  readonly key: string;
  readonly value: string;
  readonly meaning: string;
  readonly isComplete: boolean;
}
export function rowsOf(schema: object, prefix?: string): Row[];
/** What a map of the file requires, in words. */
export interface RequiredKeys {
  readonly path: string;
  readonly needs: string;
}
export function requiredOf(schema: object, path?: string): RequiredKeys[];
export function listsOf(schemas: {
  topLevel: object;
  provider: object;
  pool: object;
  providerOurs?: readonly string[];
  drivers: readonly { name: string; schema: object }[];
}): Record<string, string>;
export function renderPage(page: string, lists: Record<string, string>): Promise<string>;
export function driverPackages(): string[];
export function listItem(text: string): string;
