import type { LabelName, LabelValues } from '../table/definition.js';

/** User-chosen names, which often contain dots. A dot must not create a level. */
const ESCAPED: ReadonlySet<LabelName> = new Set<LabelName>(['requestor', 'tenant', 'resource']);

/** Converts a name to a single level: `.` and `:` become `_`. */
export function escapeLevel(text: string): string {
  return text.replace(/[.:|@#\s]/g, '_');
}

/** Keeps dots and replaces characters that would end the name within a line. */
export function protectLine(text: string): string {
  return text.replace(/[:|@#\s]/g, '_');
}

/** Fills in names like `nodepool.label.<label>.nodes.<state>`. */
export class NameTemplate {
  readonly #literals: readonly string[];
  readonly #labels: readonly { readonly name: LabelName; readonly escape: (text: string) => string }[];

  /** @param normalize - also convert names of providers, labels, images and hosts to one level each */
  constructor(template: string, normalize = false) {
    const pieces = template.split(/<([a-z]+)>/);
    this.#literals = pieces.filter((_, i) => i % 2 === 0);
    this.#labels = pieces
      .filter((_, i) => i % 2 === 1)
      .map((piece) => {
        const name = piece as LabelName;
        return { name, escape: isOneLevel(name, normalize) ? escapeLevel : protectLine };
      });
  }

  /** @returns `undefined` if a required value is missing or empty */
  fill(values: LabelValues): string | undefined {
    let name = this.#literals[0] ?? '';
    for (let i = 0; i < this.#labels.length; i++) {
      const label = this.#labels[i];
      const value = label && values[label.name];
      if (!value) return undefined;
      name += label.escape(value) + (this.#literals[i + 1] ?? '');
    }
    return name;
  }
}

/** Names whose dots are intended levels. */
const DOTTED: ReadonlySet<LabelName> = new Set<LabelName>(['result', 'call', 'prefix']);

function isOneLevel(name: LabelName, normalize: boolean): boolean {
  return ESCAPED.has(name) || (normalize && !DOTTED.has(name));
}
