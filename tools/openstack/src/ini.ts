/** A value in an ini file. */
export type IniValue = string | number | boolean;

/** Sections with their keys. */
export type Ini = Readonly<Record<string, Readonly<Record<string, IniValue>>>>;

/** Formats an ini file. */
export function iniText(sections: Ini): string {
  return Object.entries(sections)
    .map(([name, keys]) =>
      [`[${name}]`, ...Object.entries(keys).map(([key, value]) => `${key} = ${String(value)}`)].join('\n'),
    )
    .join('\n\n')
    .concat('\n');
}
