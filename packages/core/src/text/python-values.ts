import type { Json } from '@nodepool/zk-protocol';
import { toPythonRepr } from './python-text.js';

/** A value as Python's `str` writes it. */
export function pythonStr(value: Json): string {
  return typeof value === 'string' ? value : toPythonRepr(value);
}

/** `[[fill]align][sign][#][0][width][grouping][.precision][type]` */
const SPECIFICATION = /^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su;

/** Names of images and values of metadata are shorter than this by far. */
const MOST_WIDTH = 1_000;

interface Specification {
  readonly fill: string;
  readonly align: string | undefined;
  readonly sign: string | undefined;
  readonly width: number;
  readonly grouping: string | undefined;
  readonly precision: number | undefined;
  readonly type: string | undefined;
}

/**
 * Formats a value by a specification of Python's format language.
 * @param field - that the specification is in, for errors
 */
export function formatValue(value: Json, specification: string, field: string): string {
  if (specification === '') return pythonStr(value);
  const parts = SPECIFICATION.exec(specification);
  if (parts === null) throw unsupported(specification, value, field);
  const [, fill, align, sign, alternate, zero, width, grouping, precision, type] = parts;
  const read: Specification = {
    fill: fill ?? (zero === undefined ? ' ' : '0'),
    align: align ?? (zero !== undefined && typeof value !== 'string' ? '=' : undefined),
    sign,
    width: Number(width ?? 0),
    grouping,
    precision: precision === undefined ? undefined : Number(precision),
    type,
  };
  if (alternate !== undefined) throw unsupported(specification, value, field);
  const number = typeof value === 'boolean' ? Number(value) : value;
  const text = typeof number === 'string' ? formatText(number, read) : formatNumber(number, read);
  if (text === undefined) throw unsupported(specification, value, field);
  return text;
}

function unsupported(specification: string, value: Json, field: string): Error {
  const kind = typeof value === 'string' ? 'a text' : typeof value === 'number' ? 'a number' : 'this value';
  return new Error(`"{${field}}" is not supported: "${specification}" is no format of ${kind}`);
}

function formatText(value: string, specification: Specification): string | undefined {
  const { align, sign, width, grouping, precision, type } = specification;
  if (width > MOST_WIDTH || sign !== undefined || grouping !== undefined || align === '=' || (type ?? 's') !== 's')
    return undefined;
  const text = precision === undefined ? value : [...value].slice(0, precision).join('');
  return padded('', text, specification, align ?? '<');
}

function formatNumber(value: Json, specification: Specification): string | undefined {
  const isZeroGrouped = specification.grouping !== undefined && specification.align === '=';
  if (typeof value !== 'number' || isZeroGrouped || specification.width > MOST_WIDTH) return undefined;
  const digits = digitsOf(Math.abs(value), specification);
  if (digits === undefined) return undefined;
  const { sign, align } = specification;
  const prefix = value < 0 ? '-' : sign === undefined || sign === '-' ? '' : sign;
  return padded(prefix, grouped(digits, specification.grouping), specification, align ?? '>');
}

const RADIX: Readonly<Record<string, number>> = { d: 10, b: 2, o: 8, x: 16, X: 16 };

function digitsOf(size: number, { precision, type, grouping }: Specification): string | undefined {
  const radix = RADIX[type ?? 'd'];
  if (radix !== undefined) {
    const isPlain = type === undefined && precision === undefined;
    if (precision !== undefined || (!Number.isInteger(size) && !isPlain) || (radix !== 10 && grouping !== undefined))
      return undefined;
    return type === 'X' ? size.toString(radix).toUpperCase() : size.toString(radix);
  }
  if (type === 'f' || type === 'F') return size.toFixed(precision ?? 6);
  return type === '%' ? `${(size * 100).toFixed(precision ?? 6)}%` : undefined;
}

function grouped(digits: string, separator: string | undefined): string {
  if (separator === undefined) return digits;
  const [whole = '', ...rest] = digits.split('.');
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, separator), ...rest].join('.');
}

function padded(prefix: string, text: string, { fill, width }: Specification, align: string): string {
  const missing = Math.max(0, width - [...prefix, ...text].length);
  const before = align === '<' ? 0 : align === '^' ? Math.floor(missing / 2) : missing;
  if (align === '=') return prefix + fill.repeat(missing) + text;
  return fill.repeat(before) + prefix + text + fill.repeat(missing - before);
}
