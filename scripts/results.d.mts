/** What `vitest --reporter=json` writes, as far as it is read. */
export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}
export function countTests(report: Report, status: number | null): { passed: number; failed: number };
export function resultTable(
  stages: readonly {
    readonly name: string;
    readonly passed: number;
    readonly failed: number;
    readonly ms: number;
  }[],
): string[];
