/** Size of a chart, and its highest value. */
export interface ChartSize {
  readonly width: number;
  readonly height: number;
  readonly most: number;
}

/** The path of a line in an SVG that is level for each value; it has a gap where a value is not known. */
export function stepPath(values: readonly (number | null)[], { width, height, most }: ChartSize): string {
  const step = width / values.length;
  let path = '';
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const y = place(height - (value / most) * height);
    const isJoined = at > 0 && values[at - 1] !== null;
    path += isJoined ? `V${y}` : `M${place(at * step)} ${y}`;
    path += `H${place((at + 1) * step)}`;
  }
  return path;
}

function place(value: number): number {
  return Math.round(value * 100) / 100;
}
