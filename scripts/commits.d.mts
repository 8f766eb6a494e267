/** What is wrong with a commit message, in words; empty when nothing is. */
export function problemsOf(subject: string, body: string): string[];
