/** Keys and list indexes from the top of a document to a value. */
export type YamlPath = readonly (string | number)[];

/** `providers[0].pools[1].max-servers`; keys that are not simple words are quoted. */
export function formatPath(path: YamlPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}
