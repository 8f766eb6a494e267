import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import type { LauncherProcess } from './launcher-process.js';

const PAGES = [
  '/',
  ...'node-list request-list label-list image-list healthz ready metrics'.split(' ').map((name) => `/${name}`),
];

/**
 * Answers of all pages, lists and operations that only read, to a caller without a token and to one with it, by their paths.
 * @param ids - ids of records, by the part of a path that precedes them
 */
export async function pagesOf(
  launcher: LauncherProcess,
  token: string,
  ids: Readonly<Record<string, readonly string[]>>,
): Promise<Map<string, string>> {
  const { paths } = (await launcher.getJson('/api/v1/openapi.json')) as { paths: Record<string, object> };
  const read = Object.keys(paths).filter((path) => 'get' in (paths[path] ?? {}) && !path.endsWith('/events'));
  const filled = read.flatMap((path) => {
    const ofKind = Object.entries(ids).find(([kind]) => path.includes(`/${kind}/{`))?.[1] ?? ['first'];
    return ofKind.map((id) => path.replace(/\{\w+\}/, id));
  });
  const root = '/api/v1';
  const all = [...PAGES, `${root}/openapi.json`, ...filled.map((path) => `${root}${path.replace(root, '')}`)];
  const answers = await Promise.all(
    all.flatMap((path) =>
      [undefined, token].map(async (bearer) => {
        const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
        const response = await fetch(`http://127.0.0.1:${launcher.webPort}${path}`, { headers });
        return [`${path}${bearer === undefined ? '' : ' with a token'}`, await response.text()] as const;
      }),
    ),
  );
  return new Map(answers);
}

/** Everything that a stream of events sent so far. */
export async function listen(launcher: LauncherProcess): Promise<{ text: string; end: () => void }> {
  const end = new AbortController();
  const response = await fetch(`http://127.0.0.1:${launcher.webPort}/api/v1/events`, { signal: end.signal });
  const heard = { text: '', end: () => end.abort() };
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) heard.text += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(() => undefined);
  return heard;
}

/** All files below a folder. */
export async function filesOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file, 'latin1')] as const)));
}

/** All records of the database, by path. */
export async function recordsOf(zk: ZooKeeper): Promise<Map<string, string>> {
  const records = new Map<string, string>();
  const read = async (path: string): Promise<void> => {
    records.set(path, (await zk.getData(path)).data.toString());
    await Promise.all((await zk.getChildren(path)).map((name) => read(`${path}/${name}`)));
  };
  await read('/nodepool');
  return records;
}
