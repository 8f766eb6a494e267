import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@nodepool/core';
import type { DriverSetup, SetupChoice, SetupContext } from '@nodepool/core/config';
import { nameOf, type ApiPage } from './api.js';
import { createCredentials, findProject } from './credentials.js';
import { createHttp, type Http } from './http.js';

const ENDPOINT = 'https://compute.googleapis.com/compute/v1';
/** Projects whose images anyone may use. */
const PUBLIC_PROJECTS = ['debian-cloud', 'ubuntu-os-cloud', 'rocky-linux-cloud', 'centos-cloud'];
/** Enough for every list; a service that repeats itself cannot keep the command busy. */
const MOST_PAGES = 50;

/** What `nodepool init --cloud gce` asks. */
export const gceSetup: DriverSetup = {
  questions: [
    { key: 'project', subject: 'project', open: true, choices: guessProject },
    { key: 'region', subject: 'region', choices: ask(listRegions) },
    { key: 'image', subject: 'image (project/family)', choices: ask(listFamilies) },
    { key: 'machine-type', subject: 'machine type', choices: ask(listMachineTypes) },
    { key: 'username', subject: 'user to log in with', open: true, choices: () => [{ value: 'nodepool' }] },
    { key: 'key', subject: 'SSH public key of this user', open: true, choices: listPublicKeys },
  ],
  options: ['credentials', 'endpoint'],
  getEntry: (answers, label) => {
    const { project = '', region = '', image = '', username = '', key = '', credentials, endpoint } = answers;
    const [imageProject = '', family = ''] = image.split('/');
    return {
      ...{ project, region },
      ...(credentials !== undefined && { credentials }),
      ...(endpoint !== undefined && { endpoint }),
      'cloud-images': [{ name: label, 'image-project': imageProject, 'image-family': family, username, key }],
      pools: [
        {
          name: 'main',
          labels: [{ name: label, 'cloud-image': label, 'instance-type': answers['machine-type'] ?? '' }],
        },
      ],
    };
  },
};

async function guessProject({ answers }: SetupContext): Promise<SetupChoice[]> {
  const project = await findProject(answers['credentials']);
  return project === undefined ? [] : [{ value: project }];
}

type List = (api: Lists, answers: SetupContext['answers']) => Promise<SetupChoice[]>;

/** The lists of one project. */
interface Lists {
  readonly all: <T>(path: string, fields: string) => Promise<T[]>;
  readonly project: string;
}

function ask(list: List): (context: SetupContext) => Promise<SetupChoice[]> {
  return async ({ answers, clock, signal }) => {
    const credentials = createCredentials(answers['credentials'], clock);
    const http = createHttp({ endpoint: answers['endpoint'] ?? ENDPOINT, clock, credentials });
    const project = `projects/${encodeURIComponent(answers['project'] ?? '')}`;
    try {
      return await list({ project, all: (path, fields) => listAll(http, path, fields, signal) }, answers);
    } finally {
      await http.close();
    }
  };
}

async function listAll<T>(http: Http, path: string, fields: string, signal: AbortSignal): Promise<T[]> {
  const found: T[] = [];
  let pageToken: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const query = { fields: `nextPageToken,items(${fields})`, pageToken };
    const page: ApiPage<T> = await http.call({ verb: 'GET', path, query }, signal);
    found.push(...(page.items ?? []));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  return found;
}

async function listRegions({ all, project }: Lists): Promise<SetupChoice[]> {
  const regions = await all<{ name: string }>(`${project}/regions`, 'name');
  return regions.map(({ name }) => ({ value: name })).sort(byValue);
}

async function listFamilies({ all }: Lists, answers: SetupContext['answers']): Promise<SetupChoice[]> {
  const projects = [...PUBLIC_PROJECTS, answers['project'] ?? ''];
  type ApiImage = { family?: string; deprecated?: { state?: string } };
  const lists = await Promise.all(
    projects.map(async (project) => {
      const path = `projects/${encodeURIComponent(project)}/global/images`;
      const images = await all<ApiImage>(path, 'family,deprecated/state');
      const current = images.filter(({ deprecated }) => deprecated?.state === undefined);
      return current.flatMap(({ family }) => (family === undefined ? [] : `${project}/${family}`));
    }),
  );
  return [...new Set(lists.flat())].sort().map((value) => ({ value }));
}

async function listMachineTypes({ all, project }: Lists, answers: SetupContext['answers']): Promise<SetupChoice[]> {
  const regions = await all<{ name: string; zones: readonly string[] }>(`${project}/regions`, 'name,zones');
  const zone = regions.find(({ name }) => name === answers['region'])?.zones.map(nameOf)[0];
  if (zone === undefined) return [];
  type ApiType = { name: string; guestCpus: number; memoryMb: number };
  const types = await all<ApiType>(`${project}/zones/${zone}/machineTypes`, 'name,guestCpus,memoryMb');
  types.sort((a, b) => a.memoryMb - b.memoryMb || a.guestCpus - b.guestCpus || (a.name < b.name ? -1 : 1));
  return types.map(({ name, guestCpus, memoryMb }) => ({ value: name, note: `${guestCpus} CPUs, ${memoryMb} MiB` }));
}

/** The keys of `~/.ssh`. */
function listPublicKeys({ env }: SetupContext): SetupChoice[] {
  const folder = join(env['HOME'] ?? homedir(), '.ssh');
  try {
    const files = readdirSync(folder).filter((name) => name.endsWith('.pub'));
    return files.map((name) => ({ value: readFileSync(join(folder, name), 'utf8').trim(), note: join(folder, name) }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new ConfigError(`Cannot read the public keys in ${folder}: ${(error as Error).message}`, [], {
      cause: error,
    });
  }
}

function byValue(a: SetupChoice, b: SetupChoice): number {
  return a.value < b.value ? -1 : 1;
}
