import { readFileSync } from 'node:fs';

/** Loads a file of golden samples: bodies and paths exactly as Nodepool and Zuul write them. */
export function loadVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`./vectors/${name}.json`, import.meta.url), 'utf8')) as T;
}
