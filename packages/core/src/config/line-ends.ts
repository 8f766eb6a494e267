/** What ends a line for the readers installations are used to: YAML 1.1 knows more line ends than its successors. */
const LINE_END = /\r\n|[\n\r\u0085\u2028\u2029]/g;

/** Where each line begins. */
export function lineStarts(text: string): number[] {
  return [0, ...Array.from(text.matchAll(LINE_END), ({ 0: end, index }) => index + end.length)];
}

/** The text in lines that end as the YAML parser knows it, each character in the place where it was. */
export function withKnownLineEnds(text: string): string {
  return text.replace(LINE_END, (end) => (end === '\r\n' ? end : '\n'));
}
