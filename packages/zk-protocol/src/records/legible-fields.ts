import { isMap } from './json-values.js';
import type { Json, JsonObject } from './types.js';

/**
 * The top-level fields of a body that can be read although the record cannot: all of them if the body is a JSON object, those before
 * the end if it was cut off, otherwise none. Their types are not checked.
 */
export function legibleFields(body: Buffer): JsonObject {
  const text = body.toString('utf8');
  const whole = parse(text);
  if (whole !== undefined) return isMap(whole) ? whole : {};
  const end = endOfMembers(text);
  const begun = end === undefined ? undefined : parse(`${text.slice(0, end)}}`);
  return isMap(begun) ? begun : {};
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Position of the last comma between members of the outermost object. */
function endOfMembers(text: string): number | undefined {
  let depth = 0;
  let isText = false;
  let end: number | undefined;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isText && char === '\\') at++;
    else if (char === '"') isText = !isText;
    else if (isText) continue;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    else if (char === ',' && depth === 1) end = at;
  }
  return end;
}
