import type { ScalarTag } from 'yaml';

/**
 * Tags for plain scalars of a configuration. These are the YAML 1.1 rules of PyYAML's safe loader, for which existing
 * files were written. They are narrower than the standard: `y` and `n` are text, `1e3` is text,
 * `0755` is octal, `1:30` is 90. Dates stay text, because JSON has none.
 */
export const YAML_SCALARS: ScalarTag[] = [
  {
    tag: 'tag:yaml.org,2002:null',
    default: true,
    test: /^(?:~|null|Null|NULL|)$/,
    resolve: () => null,
  },
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
    resolve: (text) => /^(?:yes|true|on)$/i.test(text),
  },
  {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test: /^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
    resolve: (text, onError) => {
      const value = parseInteger(text);
      if (Number.isNaN(value)) onError(`${text} is not an integer`);
      return value;
    },
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    resolve: (text, onError) => {
      const value = parseFloatingPoint(text);
      if (Number.isNaN(value) && !/nan/i.test(text)) onError(`${text} is not a number`);
      return value;
    },
  },
];

function parseInteger(text: string): number {
  const { sign, digits } = splitSign(text);
  if (/^0b/.test(digits)) return sign * Number(digits);
  if (/^0x/.test(digits)) return sign * Number(digits);
  if (digits.includes(':')) return sign * sexagesimal(digits);
  if (/^0[0-7]+$/.test(digits)) return sign * Number.parseInt(digits, 8);
  return /^[0-9]+$/.test(digits) ? sign * Number(digits) : Number.NaN;
}

function parseFloatingPoint(text: string): number {
  const { sign, digits } = splitSign(text);
  if (/^\.inf$/i.test(digits)) return sign * Infinity;
  if (/^\.nan$/i.test(digits)) return Number.NaN;
  return sign * (digits.includes(':') ? sexagesimal(digits) : Number(digits));
}

function splitSign(text: string): { sign: 1 | -1; digits: string } {
  return { sign: text.startsWith('-') ? -1 : 1, digits: text.replace(/^[-+]/, '').replaceAll('_', '') };
}

/** `1:30` is one minute thirty: base 60. */
function sexagesimal(digits: string): number {
  return digits.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}
