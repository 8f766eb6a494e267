import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { kubeconfigFiles, readCluster } from './kubeconfig.js';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function write(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const YAML = `
apiVersion: v1
kind: Config
current-context: one
clusters:
  - name: c
    cluster: { server: "https://c.example:6443/", certificate-authority-data: ${base64('CA')}, tls-server-name: k8s }
users:
  - name: u
    user: { client-certificate: certs/u.crt, client-key-data: ${base64('KEY')} }
  - name: t
    user: { token: s3cret, tokenFile: token }
  - name: e
    user: { exec: { command: ./login, args: [a, 1], env: [{ name: A, value: b }], apiVersion: client.authentication.k8s.io/v1beta1 } }
contexts:
  - name: one
    context: { cluster: c, user: u }
  - name: two
    context: { cluster: c, user: t }
  - name: three
    context: { cluster: c, user: e }
  - name: lost
    context: { cluster: gone, user: t }
`;

describe('a kubeconfig file', () => {
  it('whose proxy-url cannot be used is refused without its login', async () => {
    const file = await write('config', YAML.replace('tls-server-name: k8s', 'proxy-url: "ftp://u:h1dden@proxy"'));

    const read = readCluster({ file, context: undefined, env: {} });

    await expect(read).rejects.toThrow('context "one": its "proxy-url" names no proxy of a kind that is known (ftp:)');
    await expect(read).rejects.not.toThrow('h1dden');
  });

  it('names server, authority and client certificate of the current context', async () => {
    await mkdir(join(folder, 'certs'));
    await write('certs/u.crt', 'CERT');
    const file = await write('config', YAML);

    const cluster = await readCluster({ file, context: undefined, env: {} });

    expect(cluster).toMatchObject({
      ...{ context: 'one', server: 'https://c.example:6443', ca: 'CA', skipTls: false, tlsServerName: 'k8s' },
      user: { certificate: 'CERT', key: 'KEY', token: undefined },
    });
  });

  it('has tokens, token files and programs, whose paths are relative to it', async () => {
    const file = await write('config', YAML);

    const { user } = await readCluster({ file, context: 'two', env: {} });
    const { user: withProgram } = await readCluster({ file, context: 'three', env: {} });

    expect(user).toMatchObject({ token: 's3cret', tokenFile: join(folder, 'token') });
    expect(withProgram.exec).toMatchObject({ command: join(folder, 'login'), args: ['a', '1'], env: { A: 'b' } });
  });

  it('is merged with others: the first one that has a name wins', async () => {
    const first = await write('first', 'current-context: two\n');
    const env = { KUBECONFIG: `${first}:${await write('second', YAML)}:${join(folder, 'missing')}` };

    expect((await readCluster({ file: undefined, context: undefined, env })).context).toBe('two');
  });

  it.each([
    ['another', 'there is no context "another"; there are: one, two, three, lost'],
    ['lost', 'context "lost" names cluster "gone", which has no server'],
    ['one', 'client-certificate of the kubeconfig cannot be read'],
  ])('is refused for context "%s"', async (context, message) => {
    const file = await write('config', YAML);

    await expect(readCluster({ file, context, env: {} })).rejects.toThrow(message);
  });

  it.each([
    ['users: [ {token: s3cret\n  ]: }', 'config:1:10 is no YAML'],
    ['users: [ {token: *s3cret} ]', 'config is no YAML'],
    ['users: [ {token: !s3cret x} ]', 'there is no context "any"'],
  ])('shows nothing of its content when it is no YAML: %j', async (text, said) => {
    const file = await write('config', text);
    const warned = vi.spyOn(process, 'emitWarning');
    onTestFinished(() => warned.mockRestore());

    const error: unknown = await readCluster({ file, context: 'any', env: {} }).catch((one: unknown) => one);
    const message = error instanceof Error ? error.message : '';

    expect(message).toContain(said);
    expect(message).not.toContain('s3cret');
    expect(warned).not.toHaveBeenCalled();
  });

  it('is replaced by the service account of the pod when there is none', async () => {
    await write('ca.crt', 'CA');
    const env = { HOME: folder, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };

    const cluster = await readCluster({ file: undefined, context: undefined, env }, folder);

    expect(cluster).toMatchObject({
      server: 'https://[fd00::1]:6443',
      ca: 'CA',
      user: { tokenFile: join(folder, 'token') },
    });
  });

  it('is looked for where kubectl looks', async () => {
    expect(kubeconfigFiles(undefined, { HOME: '/home/ci' })).toEqual(['/home/ci/.kube/config']);
    expect(kubeconfigFiles(undefined, { KUBECONFIG: '/a:/b' })).toEqual(['/a', '/b']);
    expect(kubeconfigFiles('/c', { KUBECONFIG: '/a' })).toEqual(['/c']);
    await expect(readCluster({ file: undefined, context: undefined, env: { HOME: folder } })).rejects.toThrow(
      `looked for ${folder}/.kube/config, and this does not run in a pod`,
    );
  });
});
