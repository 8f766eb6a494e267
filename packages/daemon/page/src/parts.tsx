import type { ComponentChildren } from 'preact';

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

/** A table; its rows begin with what they are about. */
export function Table({
  caption,
  columns,
  rows,
}: {
  caption: string;
  columns: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
}) {
  if (rows.length === 0) return <p class="none">None.</p>;
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...others]) => (
            <tr>
              <th scope="row">{first}</th>
              {others.map((cell) => (
                <td>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
