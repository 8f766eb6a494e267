import { readFileSync, statSync } from 'node:fs';
import { listOf, mapOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { ProviderConfig } from '../contract/provider-config.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument } from './source-document.js';

/** Source of positions, and collector of problems. */
interface SecretCheck {
  readonly document: SourceDocument;
  readonly problems: ProblemCollector;
}

const OTHERS_READ = 0o004;
/** Keys whose value is the path of a file with a secret. */
const SECRET_FILES: readonly (readonly string[])[] = [
  ['webapp', 'tls', 'key'],
  ['builder-webapp', 'tls', 'key'],
  ['zookeeper-tls', 'key'],
  ['lease-ca-key'],
];
const WAY_OF_PROXIES = ['webapp', 'builder-webapp'] as const;

/** Warns of files with secrets that every user may read, and of proxies that are any computer. */
export function checkSecrets(top: JsonObject, { document, problems }: SecretCheck): void {
  for (const path of SECRET_FILES) {
    const file = textOf(path.reduce<Json | undefined>((value, key) => mapOf(value)[key], top));
    const why = file === undefined ? undefined : openFile(file);
    if (why !== undefined) problems.add(document, path, why, { severity: 'warning' });
  }
  for (const section of WAY_OF_PROXIES) {
    for (const [index, entry] of listOf(mapOf(top[section])['trusted-proxies']).entries()) {
      if (typeof entry !== 'string' || !/\/0+$/.test(entry)) continue;
      const message =
        `${entry} is every computer: each may claim another address and HTTPS in its headers, so tokens are taken over plain ` +
        'HTTP; list the addresses of your proxies';
      problems.add(document, [section, 'trusted-proxies', index], message, { severity: 'warning' });
    }
  }
}

/** Warns of a file that is secret as a whole. */
export function checkSecretFile({ document, problems }: SecretCheck, file = document.file): void {
  const why = openFile(file);
  if (why !== undefined) problems.add(document, [], why, { severity: 'warning' });
}

/** Warns of files of credentials that a provider reads: those that it names as secret, and others that have a secret. */
export function checkProviderSecrets(config: ProviderConfig, index: number, { document, problems }: SecretCheck): void {
  const mayHold = (config.files ?? []).filter((file) => openFile(file) !== undefined && holdsSecret(file));
  for (const file of new Set([...(config.secretFiles ?? []), ...mayHold])) {
    const why = openFile(file);
    if (why !== undefined) problems.add(document, ['providers', index], why, { severity: 'warning' });
  }
}

/** Words of `clouds.yaml` and kubeconfig files; public certificates have none of them. */
const SECRET =
  /PRIVATE KEY-----|^[\s"'-]*(\w*password|\w*secret|\w*token|passcode|client-key-data)["']?\s*:\s*["']?\S/im;

function holdsSecret(file: string): boolean {
  try {
    return SECRET.test(readFileSync(file, 'utf8'));
  } catch {
    return false; // reading it as configuration reports the reason
  }
}

/** @returns `undefined`: it is not open, or cannot be looked at here */
function openFile(file: string): string | undefined {
  const mode = modeOf(file);
  if ((mode & OTHERS_READ) === 0) return undefined;
  return `every user of this computer may read ${file}, which has a secret (mode ${(mode & 0o777).toString(8)}): chmod o= ${file}`;
}

/** @returns no permissions for a file that is missing, or that this user cannot get to */
function modeOf(file: string): number {
  try {
    return statSync(file).mode;
  } catch {
    return 0;
  }
}
