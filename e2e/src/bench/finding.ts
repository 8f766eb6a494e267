/** One figure of a measurement that is not a load. */
export interface Finding {
  what: string;
  value: number;
  unit: string;
  /** Target. */
  wanted?: string;
}

/** A figure as a line of text. */
export function describeFinding({ what, value, unit, wanted }: Finding): string {
  const digits = Math.abs(value) < 10 && !Number.isInteger(value) ? 2 : 0;
  return `${what}: ${value.toFixed(digits)} ${unit}${wanted === undefined ? '' : ` (wanted: ${wanted})`}`;
}
