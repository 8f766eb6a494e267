/** How a listing is written. */
export type Representation = 'text' | 'json';

const OFFERS = [
  { type: 'text', subtype: 'html', representation: 'text' },
  { type: 'text', subtype: 'plain', representation: 'text' },
  { type: 'application', subtype: 'json', representation: 'json' },
] as const;

interface MediaRange {
  type: string;
  subtype: string;
  quality: number;
}

function parseQuality(parameters: readonly string[]): number {
  const text = parameters.map((parameter) => /^\s*q\s*=\s*(.*)$/i.exec(parameter)?.[1]).find(Boolean);
  if (text === undefined) return 1;
  const quality = Number(text);
  return Number.isFinite(quality) ? Math.min(1, Math.max(0, quality)) : 0;
}

function parseAccept(header: string): MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const part of header.split(',')) {
    const [range = '', ...parameters] = part.split(';');
    const [type, subtype] = range.trim().toLowerCase().split('/');
    if (type && subtype) ranges.push({ type, subtype, quality: parseQuality(parameters) });
  }
  return ranges;
}

/** Quality of an offer: that of the most specific range naming it; 0 when none does. */
function qualityOf(offer: (typeof OFFERS)[number], ranges: readonly MediaRange[]): number {
  let best = { specificity: -1, quality: 0 };
  for (const { type, subtype, quality } of ranges) {
    const specificity = type === offer.type ? (subtype === offer.subtype ? 2 : subtype === '*' ? 1 : -1) : -1;
    const matched = type === '*' && subtype === '*' ? 0 : specificity;
    if (matched > best.specificity) best = { specificity: matched, quality };
  }
  return best.quality;
}

/**
 * Chooses how to answer. Text wins ties, whatever the order in the header: JSON is only sent to those who prefer it,
 * which is what clients of Nodepool's listings have always seen (the usual packages decide ties by the header's order).
 * @returns `undefined` when nothing we can send is acceptable
 */
export function negotiate(accept: string | undefined): Representation | undefined {
  const ranges = parseAccept(accept ?? '');
  if (ranges.length === 0) return 'text';
  let best: { representation: Representation; quality: number } | undefined;
  for (const offer of OFFERS) {
    const quality = qualityOf(offer, ranges);
    if (quality > (best?.quality ?? 0)) best = { representation: offer.representation, quality };
  }
  return best?.representation;
}
