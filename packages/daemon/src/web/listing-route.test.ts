import { beforeEach, describe, expect, it } from 'vitest';
import type { Listing } from '@nodepool/core/service';
import { listingRoute } from './listing-route.js';
import type { ListingRoute } from './routes.js';

type Column<T> = Listing<T>[number];

interface Row {
  readonly id: string;
  readonly size: number;
}

const ID: Column<Row> = { key: 'id', header: 'ID', level: 'brief', value: ({ id }) => id };
const SIZE: Column<Row> = { key: 'size', header: 'Size', level: 'brief', value: ({ size }) => size };
const ROWS: Row[] = [
  { id: 'a', size: 1 },
  { id: 'b', size: 2 },
];

let route: ListingRoute;

beforeEach(() => {
  route = listingRoute<Row>(
    { now: () => 0, setTimer: () => () => {} },
    {
      ...{ listing: [ID], selectable: [ID, SIZE], idParameter: 'id' },
      rows: ({ parameters }) => ROWS.filter(({ id }) => !parameters.has('id') || id === parameters.get('id')),
    },
  );
});

const normalized = (query: string) => route.normalize(new URLSearchParams(query)).toString();
function render(representation: 'json' | 'text', query = ''): string {
  return [...route.render({ representation, parameters: route.normalize(new URLSearchParams(query)) })].join('');
}

describe('a query', () => {
  it('is normalized, so that equal ones share a cached answer', () => {
    expect(normalized('fields=size,id')).toBe(normalized('fields=%20id%20,id,size,nonsense&other=1'));
    expect(normalized('fields=')).toBe('');
    expect(normalized('fields=nonsense')).toBe('fields=');
    expect(normalized('id=a&fields=id')).toBe('fields=id&id=a');
  });

  it('is cheap if it names a single row', () => {
    expect(route.isCheap(new URLSearchParams('id=a'))).toBe(true);
    expect(route.isCheap(new URLSearchParams('fields=id'))).toBe(false);
  });
});

describe('an answer', () => {
  it('has the default columns in JSON, or those of json_fields', () => {
    expect(JSON.parse(render('json'))).toEqual([{ id: 'a' }, { id: 'b' }]);
    expect(JSON.parse(render('json', 'json_fields=size&fields=id&id=b'))).toEqual([{ size: 2 }]);
  });

  it('has the columns of fields as text', () => {
    expect(render('text', 'fields=size')).toContain('| Size |');
    expect(render('text', 'fields=size')).not.toContain('ID');
  });
});
