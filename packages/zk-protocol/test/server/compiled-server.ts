import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));

const MAIN = `
import { startEmbeddedServer } from './server/index.js';
const server = await startEmbeddedServer({ dataDir: process.argv[2], port: Number(process.argv[3]), snapshotEvery: 500 });
process.stdout.write(server.port + '\\n');
`;

/**
 * Turns the server into JavaScript that a process of its own can run.
 * @returns the program to run; its arguments are the data directory and the port
 */
export async function compileServer(directory: string): Promise<string> {
  const files = await readdir(SOURCES, { recursive: true });
  const wanted = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.d.ts'));
  for (const name of wanted) {
    const source = await readFile(join(SOURCES, name), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    });
    const target = join(directory, relative('.', name).replace(/\.ts$/, '.js'));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  const main = join(directory, 'main.js');
  await writeFile(main, MAIN);
  return main;
}
