// contrib/kubernetes, as kustomize would apply it: without its renaming, which changes nothing that a server checks.
import { readFile } from 'node:fs/promises';
import { beforeAll, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { Answer } from '@nodepool/kubernetes';
import { useControlPlane } from './real-world.js';

const FOLDER = new URL('../../../../contrib/kubernetes/', import.meta.url);
const PATHS: Readonly<Record<string, string>> = {
  Service: 'api/v1/namespaces/nodepool/services',
  ConfigMap: 'api/v1/namespaces/nodepool/configmaps',
  Secret: 'api/v1/namespaces/nodepool/secrets',
  StatefulSet: 'apis/apps/v1/namespaces/nodepool/statefulsets',
  NetworkPolicy: 'apis/networking.k8s.io/v1/namespaces/nodepool/networkpolicies',
};

interface Manifest extends Record<string, unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Record<string, unknown>;
}

interface Generator {
  readonly name: string;
  readonly files: readonly string[];
}

interface Kustomization {
  readonly namespace: string;
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly Generator[];
  readonly secretGenerator: readonly Generator[];
}

const { plane } = useControlPlane();
const read = (file: string): Promise<string> => readFile(new URL(file, FOLDER), 'utf8');

/** As Kubernetes reads YAML: 0440 is octal. */
async function manifestsIn(file: string): Promise<Manifest[]> {
  return parseAllDocuments(await read(file), { version: '1.1' }).map((document) => document.toJS() as Manifest);
}

async function generated(kind: 'ConfigMap' | 'Secret', { name, files }: Generator): Promise<Manifest> {
  const content = await Promise.all(files.map(async (file) => [file, await read(file)] as const));
  const key = kind === 'Secret' ? 'stringData' : 'data';
  return { apiVersion: 'v1', kind, metadata: { name }, [key]: Object.fromEntries(content) };
}

async function allManifests(): Promise<Manifest[]> {
  const { resources, configMapGenerator, secretGenerator } = parse(await read('kustomization.yaml')) as Kustomization;
  const made = [
    ...configMapGenerator.map((each) => generated('ConfigMap', each)),
    ...secretGenerator.map((each) => generated('Secret', each)),
  ];
  return [...(await Promise.all(resources.map(manifestsIn))).flat(), ...(await Promise.all(made))];
}

function apply(manifest: Manifest): Promise<Answer> {
  const { kind, metadata } = manifest;
  const path = PATHS[kind];
  if (path === undefined) throw new Error(`no path is known for ${kind} ${metadata.name}`);
  return plane().admin.dryApply(`${path}/${metadata.name}`, manifest);
}

beforeAll(async () => {
  for (const namespace of await manifestsIn('namespace.yaml')) {
    await plane().admin.must('POST', 'api/v1/namespaces', namespace);
  }
});

it('an API server accepts every object of contrib/kubernetes', async () => {
  const manifests = (await allManifests()).filter(({ kind }) => kind !== 'Namespace');

  const answers = await Promise.all(manifests.map(apply));

  const refused = answers.flatMap(({ status, body }) => (status < 300 ? [] : [body['message']]));
  expect(refused).toEqual([]);
  expect(manifests.filter(({ kind }) => kind === 'StatefulSet')).toHaveLength(3);
});

it('an API server refuses a key that it does not know', async () => {
  const [service] = (await manifestsIn('launcher.yaml')).filter(({ kind }) => kind === 'Service');
  const misspelt = { ...service, spec: { ...service?.spec, clusterIp: 'None' } } as unknown as Manifest;

  expect((await apply(misspelt)).body['message']).toContain('.spec.clusterIp: field not declared in schema');
});
