/** Line ends of YAML 1.1, for which existing files were written; later versions have fewer. */
const LINE_END = /\r\n|[\n\r\u0085\u2028\u2029]/g;

/** Offsets of the line starts. */
export function lineStarts(text: string): number[] {
  return [0, ...Array.from(text.matchAll(LINE_END), ({ 0: end, index }) => index + end.length)];
}

/** Replaces line ends with those of the YAML parser, preserving all offsets. */
export function withKnownLineEnds(text: string): string {
  return text.replace(LINE_END, (end) => (end === '\r\n' ? end : '\n'));
}
