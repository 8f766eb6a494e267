import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Table } from './parts.js';

/** One column of a {@link DataTable}. */
export interface DataColumn<Row> {
  readonly name: string;
  /** What it is sorted and searched by. */
  readonly value: (row: Row) => string | number | null;
  /** How it is shown; default: as its value. */
  readonly show?: (row: Row) => ComponentChildren;
}

const PAGE_ROWS = 100;

/** Options of {@link DataTable}. */
export interface DataTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly DataColumn<Row>[];
  readonly rows: readonly Row[];
  readonly lead?: string;
  /** What a row is filtered by, and what it is called; the choices are what the rows have. */
  readonly filterName: string;
  readonly filterBy: (row: Row) => string;
  readonly filter: string;
  readonly setFilter: (filter: string) => void;
}

/** Rows that can be searched, filtered and sorted, a page at a time. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, filterBy, filter, lead } = props;
  const [search, setSearch] = useState('');
  const [sort, setSort] = useState<Sort>();
  const [page, setPage] = useState(0);
  const found = rows.filter((row) => (filter === '' || filterBy(row) === filter) && matches(row, columns, search));
  const sorted = sortRows(
    found,
    columns.find(({ name }) => name === sort?.column),
    sort?.isDown ?? false,
  );
  const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
  const shownPage = Math.min(page, pages - 1);
  const shown = sorted.slice(shownPage * PAGE_ROWS, (shownPage + 1) * PAGE_ROWS);
  return (
    <>
      <Tools {...props} search={search} setSearch={(text) => (setSearch(text), setPage(0))} found={found.length} />
      <Table
        caption={caption}
        lead={lead}
        columns={columns.map(({ name }) => name)}
        rows={shown.map((row) => columns.map(({ value, show }) => (show ? show(row) : (value(row) ?? ''))))}
        sorted={sort}
        heading={(name) => <SortButton name={name} sort={sort} setSort={setSort} />}
      />
      {pages > 1 && <Pages page={shownPage} pages={pages} setPage={setPage} />}
    </>
  );
}

interface Sort {
  readonly column: string;
  readonly isDown: boolean;
}

/** Sorts by a column; pressed again, the other way round. */
function SortButton({ name, sort, setSort }: { name: string; sort: Sort | undefined; setSort: (sort: Sort) => void }) {
  const isSorted = sort?.column === name;
  return (
    <button type="button" class="sort" onClick={() => setSort({ column: name, isDown: isSorted && !sort.isDown })}>
      {name}
      <span aria-hidden="true">{isSorted ? (sort.isDown ? ' ↓' : ' ↑') : ''}</span>
    </button>
  );
}

/** Whether a row has all words that are searched for, in whichever column. */
function matches<Row>(row: Row, columns: readonly DataColumn<Row>[], search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = columns
    .map(({ value }) => value(row))
    .join('\n')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function sortRows<Row>(rows: readonly Row[], column: DataColumn<Row> | undefined, isDown: boolean): readonly Row[] {
  if (!column) return rows;
  const compare = (a: Row, b: Row) => {
    const [x, y] = [column.value(a) ?? '', column.value(b) ?? ''];
    return typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
  };
  return [...rows].sort((a, b) => (isDown ? compare(b, a) : compare(a, b)));
}

function Tools<Row>({
  rows,
  filterName,
  filterBy,
  filter,
  setFilter,
  search,
  setSearch,
  found,
}: DataTableProps<Row> & { search: string; setSearch: (text: string) => void; found: number }) {
  const choices = [...new Set([...rows.map(filterBy), ...(filter === '' ? [] : [filter])])].sort();
  return (
    <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        Search <input type="search" value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />
      </label>
      <label>
        {filterName}{' '}
        <select value={filter} onChange={({ currentTarget }) => setFilter(currentTarget.value)}>
          <option value="">all</option>
          {choices.map((choice) => (
            <option value={choice}>{choice}</option>
          ))}
        </select>
      </label>
      <span class="note" role="status">
        {found} of {rows.length}
      </span>
    </form>
  );
}

function Pages({ page, pages, setPage }: { page: number; pages: number; setPage: (page: number) => void }) {
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>
        Previous
      </button>
      <span>
        Page {page + 1} of {pages}
      </span>
      <button type="button" disabled={page >= pages - 1} onClick={() => setPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
