const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** A size such as `2GiB`, in bytes; `undefined`: none, or a share such as `50%`. */
export function bytesOf(text: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^(\d+)\s*([a-zA-Z]*)$/.exec(text ?? '') ?? [];
  const factor = UNITS[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** A size in MiB, rounded up. */
export function mibOf(text: string | undefined): number | undefined {
  const bytes = bytesOf(text);
  return bytes === undefined ? undefined : Math.ceil(bytes / 2 ** 20);
}

/** A size in GiB, rounded up. */
export function gibOf(text: string | undefined): number | undefined {
  const bytes = bytesOf(text);
  return bytes === undefined ? undefined : Math.ceil(bytes / 2 ** 30);
}

/** Number of CPUs of a limit: `4`, or a set of pinned CPUs such as `0-3,8`. */
export function cpusOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  let count = 0;
  for (const part of text.split(',')) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part.trim()) ?? [];
    if (first === undefined) return undefined;
    count += Number(last) - Number(first) + 1;
  }
  return count;
}
