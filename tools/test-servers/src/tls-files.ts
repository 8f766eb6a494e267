import { appendFile, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './child-process.js';

/** Paths of PEM files for a TLS server with client certificates. */
export interface TlsFiles {
  /** CA of the server's and the accepted client's certificate. */
  ca: string;
  /** Client certificate that the server accepts (`CN=client`); `key` is its key. */
  cert: string;
  key: string;
  /** Client certificate of another CA, which the server rejects; `otherKey` is its key. */
  otherCert: string;
  otherKey: string;
  /** Server's key and certificate chain in one file. */
  serverPem: string;
}

const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

async function makeAuthority(dir: string, name: string, subject: string): Promise<void> {
  await run('openssl', [
    ...['req', '-x509', ...EC_KEY, '-days', '30', '-subj', `/CN=${subject}`],
    ...['-keyout', join(dir, `${name}.key`), '-out', join(dir, `${name}.pem`)],
    ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  ]);
}

async function makeCertificate(dir: string, ca: string, name: string, subject: string, usage: string): Promise<void> {
  const path = (extension: string): string => join(dir, `${name}.${extension}`);
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  await writeFile(path('ext'), `basicConstraints=CA:FALSE\nextendedKeyUsage=${usage}\n${names}\n`);
  await run('openssl', [
    'req',
    '-new',
    ...EC_KEY,
    '-subj',
    `/CN=${subject}`,
    '-keyout',
    path('key'),
    '-out',
    path('csr'),
  ]);
  await run('openssl', [
    ...['x509', '-req', '-in', path('csr'), '-out', path('pem'), '-days', '30', '-extfile', path('ext')],
    ...['-CA', join(dir, `${ca}.pem`), '-CAkey', join(dir, `${ca}.key`), '-set_serial', String(Date.now())],
  ]);
}

/** Creates the keys and certificates with openssl. */
export async function makeTlsFiles(dir: string): Promise<TlsFiles> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await Promise.all([makeAuthority(dir, 'ca', 'Test CA'), makeAuthority(dir, 'other-ca', 'Another test CA')]);
  await Promise.all([
    makeCertificate(dir, 'ca', 'server', 'localhost', 'serverAuth,clientAuth'),
    makeCertificate(dir, 'ca', 'client', 'client', 'clientAuth'),
    makeCertificate(dir, 'other-ca', 'other', 'intruder', 'clientAuth'),
  ]);
  const path = (name: string): string => join(dir, name);
  await copyFile(path('server.key'), path('server-chain.pem'));
  for (const part of ['server.pem', 'ca.pem']) await appendFile(path('server-chain.pem'), await readFile(path(part)));
  return {
    ca: path('ca.pem'),
    cert: path('client.pem'),
    key: path('client.key'),
    otherCert: path('other.pem'),
    otherKey: path('other.key'),
    serverPem: path('server-chain.pem'),
  };
}

/** Creates a self-signed certificate for localhost. @returns its PEM files */
export async function makeSelfSigned(dir: string, name = 'web'): Promise<{ cert: string; key: string }> {
  const [cert, key] = [join(dir, `${name}.pem`), join(dir, `${name}.key`)];
  await run('openssl', [
    ...['req', '-x509', ...EC_KEY, '-days', '30', '-subj', `/CN=${name}`, '-keyout', key, '-out', cert],
    ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
  ]);
  return { cert, key };
}
