import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse, YAMLParseError } from 'yaml';
import { ConfigError } from '@nodepool/core';
import { isMap, mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { mergeDeep, normalizeKeys } from './merge.js';
import type { CloudFiles } from './types.js';

/** Where to search for the files. */
export interface CloudPlaces {
  /** Environment of the process. `OS_CLIENT_CONFIG_FILE` and `OS_CLIENT_SECURE_FILE` take precedence. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders in order. Default: the current one, `~/.config/openstack`, `/etc/openstack`. */
  readonly dirs?: readonly string[] | undefined;
}

const ENDINGS = ['.yaml', '.yml', '.json'];

/**
 * Reads the first `clouds.yaml`, with the first `secure.yaml` merged over it, and the first `clouds-public.yaml`. Missing
 * and empty files are ignored.
 * @throws {ConfigError} a file cannot be read or parsed
 */
export function readCloudFiles(places: CloudPlaces): CloudFiles {
  const clouds = firstOf('clouds', places, 'OS_CLIENT_CONFIG_FILE');
  const secure = firstOf('secure', places, 'OS_CLIENT_SECURE_FILE');
  const vendors = firstOf('clouds-public', places, 'OS_CLIENT_VENDOR_FILE');
  const merged = mergeDeep(clouds.content, secure.content);
  const { clouds: entries, ...top } = merged;
  return {
    clouds: isMap(entries) ? entries : {},
    publicClouds: mapOf(vendors.content['public_clouds'] ?? vendors.content['clouds']),
    top,
    files: [clouds, secure, vendors].flatMap(({ file }) => (file === undefined ? [] : [file])),
  };
}

/** Possible paths of one file, for messages. */
export function placesOf(name: string, { env, dirs }: CloudPlaces, variable: string): string[] {
  const named = env[variable];
  const folders = dirs ?? defaultDirs(env);
  return [
    ...(named !== undefined && named !== '' ? [named] : []),
    ...folders.flatMap((dir) => ENDINGS.map((ending) => join(dir, name + ending))),
  ];
}

function defaultDirs(env: CloudPlaces['env']): string[] {
  const home = env['HOME'] ?? homedir();
  const config = env['XDG_CONFIG_HOME'] ?? join(home, '.config');
  return [process.cwd(), join(config, 'openstack'), '/etc/openstack'];
}

interface Found {
  readonly file: string | undefined;
  readonly content: JsonObject;
}

function firstOf(name: string, places: CloudPlaces, variable: string): Found {
  for (const file of placesOf(name, places, variable)) {
    const text = readIfThere(file);
    if (text === undefined) continue;
    return { file, content: contentOf(file, text) };
  }
  return { file: undefined, content: {} };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined;
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}`, [], { cause: error });
  }
}

function contentOf(file: string, text: string): JsonObject {
  let content: Json | undefined;
  try {
    content = parse(text.replaceAll(/\r\n?/g, '\n'), { version: '1.1' }) as Json | undefined;
  } catch (error) {
    // The message of the parser quotes the line, which may contain a password.
    const at = error instanceof YAMLParseError ? error.linePos?.[0] : undefined;
    const place = at === undefined ? file : `${file}:${at.line}:${at.col}`;
    throw new ConfigError(`${place} is not valid YAML: check its indentation and quotes`);
  }
  if (content === null || content === undefined) return {};
  if (!isMap(content)) throw new ConfigError(`${file} must be a map with the key "clouds"`);
  return normalizeTop(content);
}

/** Normalizes `-` to `_` in keys, but not in names of clouds and networks. */
function normalizeTop(content: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => {
      const name = key.replaceAll('-', '_');
      if ((name === 'clouds' || name === 'public_clouds') && isMap(value)) {
        return [name, Object.fromEntries(Object.entries(value).map(([cloud, entry]) => [cloud, normalizeKeys(entry)]))];
      }
      return [name, normalizeKeys(value)];
    }),
  );
}
