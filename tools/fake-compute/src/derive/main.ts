// Writes packages/driver-gce/src/compute-v1.ts from Google's API description in an npm package.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { derive, type ProtoPackage } from './derive.js';
import { FURTHER_PARAMETERS, METHODS } from './methods.js';
import { toModule } from './to-module.js';

const PACKAGE = '@google-cloud/compute@7.8.0';
const TARGET = fileURLToPath(new URL('../../../../packages/driver-gce/src/compute-v1.ts', import.meta.url));

interface ProtoTree {
  readonly nested?: Readonly<Record<string, ProtoTree>>;
}

/** The messages and services of `google.cloud.compute.v1`. */
function readProtos(dir: string): ProtoPackage {
  const [file] = execFileSync('npm', ['pack', PACKAGE, '--silent', '--pack-destination', dir], { encoding: 'utf8' })
    .trim()
    .split('\n');
  execFileSync('tar', ['-xzf', join(dir, file ?? ''), '-C', dir, 'package/build/protos/protos.json']);
  const text = readFileSync(join(dir, 'package/build/protos/protos.json'), 'utf8');
  let tree = JSON.parse(text) as ProtoTree;
  for (const name of ['google', 'cloud', 'compute', 'v1']) tree = tree.nested?.[name] ?? {};
  // the format of protobufjs
  return (tree.nested ?? {}) as ProtoPackage;
}

const dir = mkdtempSync(join(tmpdir(), 'compute-description-'));
try {
  const module = toModule(derive(readProtos(dir), METHODS, PACKAGE, FURTHER_PARAMETERS));
  writeFileSync(TARGET, module);
  console.log(`${TARGET}: ${Math.round(module.length / 1_000)} kB`);
} finally {
  rmSync(dir, { recursive: true });
}
