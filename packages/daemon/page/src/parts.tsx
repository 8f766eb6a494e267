import type { ComponentChildren } from 'preact';
import { age } from './text.js';
import { toneOf, type Tone } from './words.js';

/** A part of the page with a heading. */
export function Section({ title, note, children }: { title: string; note?: string; children: ComponentChildren }) {
  const id = title.toLowerCase().replace(/\W+/g, '-');
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {note !== undefined && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** Options of {@link Table}. */
export interface TableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  /** The column that comes first, after the name, where a row is shown as a card on a narrow screen. */
  readonly lead?: string | undefined;
  /** How each heading is shown; default: its text. */
  readonly heading?: ((name: string) => ComponentChildren) | undefined;
  readonly sorted?: { readonly column: string; readonly isDown: boolean } | undefined;
}

/** A table; its rows begin with what they are about. On a narrow screen each row is a card. */
export function Table({ caption, columns, rows, lead, heading = (name) => name, sorted }: TableProps) {
  if (rows.length === 0) return <p class="none">None.</p>;
  const sortOf = (name: string) =>
    sorted?.column === name
      ? sorted.isDown
        ? 'descending'
        : 'ascending'
      : heading(name) === name
        ? undefined
        : 'none';
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col" aria-sort={sortOf(name)}>
                {heading(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...others]) => (
            <tr>
              <th scope="row">{first}</th>
              {others.map((cell, index) => (
                <td data-label={columns[index + 1]} class={cardClass(cell, columns[index + 1] === lead)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cardClass(cell: ComponentChildren, isLead: boolean): string | undefined {
  return isLead ? 'lead' : cell === '' || cell === null || cell === undefined ? 'empty' : undefined;
}

/** A state, coloured by what it means. */
export function State({ name, tone = toneOf(name) }: { name: string; tone?: Tone }) {
  return <span class={`state ${tone}`}>{name}</span>;
}

/** How long ago something was; the time itself for who points at it. */
export function Ago({ time, now }: { time: number | null | undefined; now: number }) {
  if (time === null || time === undefined) return null;
  const at = new Date(time * 1000);
  return (
    <time dateTime={at.toISOString()} title={at.toLocaleString()}>
      {age(time, now)} ago
    </time>
  );
}

/** How much of a limit is used; told in words too. */
export function Meter({ used, limit }: { used: number; limit: number | null }) {
  if (limit === null) return <span>{used}, no limit</span>;
  const part = limit > 0 ? Math.min(1, used / limit) : 1;
  return (
    <span class="meter">
      <span class="bar" aria-hidden="true">
        <span class={part >= 1 ? 'full' : ''} style={{ width: `${Math.round(part * 100)}%` }} />
      </span>
      {used} of {limit}
    </span>
  );
}

/** What came of a write, told to screen readers too. */
export function Outcome({ text }: { text: string }) {
  return (
    <span role="status" class={/^(Refused|Failed)/.test(text) ? 'lost' : 'live'}>
      {text}
    </span>
  );
}
