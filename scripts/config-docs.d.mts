/** One key with its default and meaning. */
export interface Row {
  readonly key: string;
  readonly value: string;
  readonly meaning: string;
  readonly isComplete: boolean;
}
export function rowsOf(schema: object, prefix?: string): Row[];
/** One item of a list, or a part of one: the key in backticks, and its default in brackets. */
export interface Entry {
  readonly name: string;
  readonly value: string;
  readonly meaning: string;
}
export function listOf(entries: readonly Entry[]): string;
export function driverSections(drivers: readonly { name: string; schema: object }[], common?: readonly Entry[]): string;
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
