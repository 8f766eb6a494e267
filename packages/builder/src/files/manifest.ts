import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContents } from '@nodepool/core/service';
import { imageBase, imageFile, listBuildFiles } from './image-files.js';

/** Manifest directory of the build tool, relative to the manifest directory of a build. */
const MANIFESTS = 'dib-manifests';
const PACKAGES = /^dib-manifest-dpkg-/;
const REPOSITORIES = /^dib-manifest-git-/;
/** Status of an installed package in dpkg output. */
const INSTALLED = /^[hi]i/;

/**
 * Reads the sizes of a build's image files on this disk and the contents of its manifests.
 * @returns `undefined` if this builder has no files of the build
 */
export async function readContents(
  imagesDir: string,
  image: string,
  buildId: string,
): Promise<BuildContents | undefined> {
  const files = (await listBuildFiles(imagesDir)).get(imageBase(image, buildId));
  if (!files) return undefined;
  const sizes: Record<string, number> = {};
  for (const format of [...files.formats].sort()) {
    sizes[format] = (await stat(imageFile(imagesDir, image, buildId, format))).size;
  }
  const directory = join(imagesDir, `${imageBase(image, buildId)}.d`, MANIFESTS);
  const names = (await namesIn(directory)).sort();
  return {
    sizes,
    packages: await readAll(directory, names, PACKAGES, readPackages),
    repositories: await readAll(directory, names, REPOSITORIES, readRepositories),
  };
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** @returns `null` if there is no manifest of that kind */
async function readAll(
  directory: string,
  names: readonly string[],
  kind: RegExp,
  read: (text: string) => readonly (readonly [name: string, version: string])[],
): Promise<Record<string, string> | null> {
  const chosen = names.filter((name) => kind.test(name));
  if (chosen.length === 0) return null;
  const texts = await Promise.all(chosen.map((name) => readFile(join(directory, name), 'utf8')));
  return Object.fromEntries(texts.flatMap(read));
}

/** Parses `{"packages": [{"package": ..., "version": ..., "status": ...}]}` and ignores malformed entries. */
function readPackages(text: string): [string, string][] {
  const entries = (parse(text) as { packages?: unknown } | undefined)?.packages;
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown): [string, string][] => {
    const { package: name, version, status } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof name !== 'string' || typeof version !== 'string') return [];
    return typeof status === 'string' && !INSTALLED.test(status) ? [] : [[name, version]];
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // truncated manifest
  }
}

/** Parses lines of name, kind, path, location and version. */
function readRepositories(text: string): [string, string][] {
  return text.split('\n').flatMap((line): [string, string][] => {
    const [name, , , , version] = line.trim().split(/\s+/);
    return name === undefined || version === undefined ? [] : [[name, version]];
  });
}
