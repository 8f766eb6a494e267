/** One figure that is not about a load. */
export interface Finding {
  what: string;
  value: number;
  unit: string;
  /** What it should be. */
  wanted?: string;
}

/** A figure as a line of text. */
export function describeFinding({ what, value, unit, wanted }: Finding): string {
  const digits = Math.abs(value) < 10 && !Number.isInteger(value) ? 2 : 0;
  return `${what}: ${value.toFixed(digits)} ${unit}${wanted === undefined ? '' : ` (wanted: ${wanted})`}`;
}
