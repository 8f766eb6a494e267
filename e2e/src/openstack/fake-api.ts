import { textOf, type ApiObject } from '@nodepool/openstack';
import type { CallableApi } from './recorded-calls.js';

/** What of the fake cloud of the driver's tests is used here; it is no part of the package. */
interface FakeCloud {
  readonly authUrl: string;
  readonly state: { addImage(name: string): unknown };
  readonly entry: { readonly auth: Readonly<Record<string, string>> };
  listen(): Promise<unknown>;
  close(): Promise<void>;
}

type Compare = (fake: unknown, real: unknown, path: string) => string[];

const TESTS = new URL('../../../packages/driver-openstack/test/', import.meta.url);
const ROOTS = { nova: 'compute', neutron: 'network', glance: 'image', cinder: 'volume' } as const;

/** Where the fake cloud answers otherwise than a real one. */
export async function strangeIn(fake: unknown, real: unknown, path: string): Promise<string[]> {
  const file = new URL('support/strange-in.ts', TESTS).href;
  const { strangeIn: compare } = (await import(file)) as { strangeIn: Compare };
  return compare(fake, real, path);
}

/** Runs something with the APIs of a fake cloud, over HTTP. */
export async function withFakeApi<T>(use: (api: CallableApi) => Promise<T>): Promise<T> {
  const file = new URL('fake/fake-openstack.ts', TESTS).href;
  const { FakeOpenStack } = (await import(file)) as { FakeOpenStack: new () => FakeCloud };
  const cloud = new FakeOpenStack();
  await cloud.listen();
  cloud.state.addImage('test-image');
  try {
    return await use(await logIn(cloud));
  } finally {
    await cloud.close();
  }
}

async function logIn({ authUrl, entry }: FakeCloud): Promise<CallableApi> {
  const { username = '', password = '' } = entry.auth;
  const identity = { methods: ['password'], password: { user: { name: username, password } } };
  const answer = await fetch(`${authUrl}/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: { identity } }),
  });
  const token = answer.headers.get('x-subject-token') ?? '';
  const { token: content } = (await answer.json()) as { token: { project: { id: string } } };
  const call: CallableApi['call'] = async (service, method, path, body) => {
    const root = ROOTS[service as keyof typeof ROOTS];
    const found = await fetch(new URL(`/${root}${path}`, authUrl), {
      method,
      headers: { 'x-auth-token': token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await found.text();
    if (!found.ok) throw new Error(`${method} ${path}: ${found.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as ApiObject);
  };
  return {
    call,
    list: async (service, path, key) => ((await call(service, 'GET', path))[key] ?? []) as ApiObject[],
    projectId: () => Promise.resolve(textOf(content.project.id)),
  };
}
