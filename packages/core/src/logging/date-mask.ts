/** Tokens of winston's timestamp format for each strftime directive. */
const MASKS: Readonly<Record<string, string>> = {
  Y: 'YYYY',
  y: 'YY',
  m: 'MM',
  d: 'DD',
  H: 'HH',
  I: 'hh',
  M: 'mm',
  S: 'ss',
  f: 'SSS[000]',
  p: 'A',
  a: 'ddd',
  A: 'dddd',
  b: 'MMM',
  B: 'MMMM',
  z: 'ZZ',
  Z: 'ZZ',
  T: 'HH:mm:ss',
  X: 'HH:mm:ss',
  F: 'YYYY-MM-DD',
  x: 'MM/DD/YY',
  c: 'ddd MMM D HH:mm:ss YYYY',
  '%': '%',
};

/** Default timestamp mask, such as `2026-11-21 09:00:00,123`. */
export const DEFAULT_DATE_MASK = 'YYYY-MM-DD HH:mm:ss,SSS';

/** Translates a `datefmt` such as `%Y-%m-%d %H:%M` for winston's timestamps. Unknown directives are kept. */
export function dateMask(dateFormat: string): string {
  return dateFormat.replace(/%([a-zA-Z%])|[a-zA-Z]+/g, (text: string, directive: string | undefined) =>
    directive === undefined ? `[${text}]` : (MASKS[directive] ?? `[${text}]`),
  );
}
