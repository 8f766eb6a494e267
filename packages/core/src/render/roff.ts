/** Escapes text for the man macros. */
export function roff(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('"', '\\(dq').replaceAll('~', '\\(ti');
  return escaped.replace(/^([.'])/, '\\&$1');
}

/** Capitalizes a text and adds a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

/** A tagged paragraph. @param tag - in the man macros */
export function tagged(tag: string, text: string): string {
  return `.TP\n${tag}\n${roff(text)}`;
}

/** An option with its names, such as `-c`, and the name of its value. */
export function optionEntry(flags: readonly string[], value: string | undefined, text: string): string {
  const tag = `\\fB${flags.map(roff).join('\\fR, \\fB')}\\fR${value === undefined ? '' : ` \\fI${roff(value)}\\fR`}`;
  return tagged(tag, sentence(text));
}
