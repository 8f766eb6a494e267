/**
 * Formats a number as Python does. A number written with a point keeps it: `22.0` does not become `22`.
 * @param written - as written in the file
 */
export function pythonNumber(value: number, written: string | undefined): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const isFloat = written?.includes('.') ?? false;
  // beyond that, only the digits in the file are exact
  const isExact = Number.isSafeInteger(value) || !/^[-+]?[1-9][\d_]*$/.test(written ?? '');
  if (!isFloat) return isExact ? String(value) : (written ?? '').replace(/^\+|_/g, '');
  const text = String(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e16) return `${Object.is(value, -0) ? '-0' : text}.0`;
  if (size >= 1e16 || (size > 0 && size < 1e-4)) {
    const [digits, exponent = ''] = value.toExponential().split('e');
    return `${digits}e${exponent.replace(/^([-+])(\d)$/, '$10$2')}`;
  }
  return text;
}
