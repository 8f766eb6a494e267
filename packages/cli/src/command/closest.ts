/** Edit distance of two words; swapping two neighbouring letters counts as one edit. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((rows[i - 1]?.[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (rows[i - 1]?.[j - 1] ?? 0) + same);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? Infinity;
}

/** The known word that was probably meant; `undefined` when none is close. */
export function closestWord(word: string, known: readonly string[]): string | undefined {
  const farthest = Math.max(1, Math.floor(word.length / 3));
  const ranked = known.map((each) => ({ each, steps: distance(word, each) })).sort((a, b) => a.steps - b.steps);
  const [best] = ranked;
  return best && best.steps <= farthest ? best.each : undefined;
}
