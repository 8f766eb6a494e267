// api-reports.mjs [--check]: writes down what the packages that others build on export, one file for each surface, so that a
// change of it is seen in review. With --check nothing is written; the exit status is 1 when a file is not current, and when
// a name that a surface needs is exported by none of its package.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { ensureBuilt, root } from './ensure.mjs';

/** Packages whose exports are written down: those that authors of drivers and of tools build on. */
const PACKAGES = ['core', 'zk-protocol'];

/** Surfaces of a package: name of the report, and the declarations it is read from. */
function surfacesOf(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.entries(exports).map(([path, { types }]) => ({
    name: path === '.' ? 'index' : path.slice(2).replaceAll('/', '-'),
    declarations: join(folder, types),
  }));
}

/** The settings of one surface. Of what the extractor could warn about, only names that are needed and not exported count. */
function configure(folder, { name, declarations }) {
  const reportTempFolder = join(folder, 'dist', 'api');
  mkdirSync(reportTempFolder, { recursive: true });
  mkdirSync(join(folder, 'api'), { recursive: true });
  return ExtractorConfig.prepare({
    configObjectFullPath: join(folder, 'api-extractor.json'),
    packageJsonFullPath: join(folder, 'package.json'),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: declarations,
      compiler: { overrideTsconfig: { compilerOptions: { module: 'NodeNext', skipLibCheck: true, types: ['node'] } } },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: join(folder, 'api'),
        reportTempFolder,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: {
          default: { logLevel: 'none' },
          'ae-forgotten-export': { logLevel: 'warning', addToApiReportFile: false },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  });
}

/** Reads one surface. @returns whether its report is current, and names that it needs and does not export */
function report(folder, surface, check) {
  const needed = [];
  const result = Extractor.invoke(configure(folder, surface), {
    localBuild: !check,
    showVerboseMessages: false,
    messageCallback: (message) => {
      message.handled = message.logLevel !== 'error';
      // where two modules have a name, the extractor counts: Request_2
      const name = message.messageId === 'ae-forgotten-export' && /"(\w+?)(_\d+)?"/.exec(message.text)?.[1];
      if (name) needed.push(name);
    },
  });
  return { isCurrent: check ? !result.apiReportChanged : result.errorCount === 0, needed };
}

/** Names that a surface exports, by its report. */
function exportedNames(folder, { name }) {
  const text = readFileSync(join(folder, 'api', `${name}.api.md`), 'utf8');
  const declared =
    /^export (?:abstract )?(?:class|const|enum|function|interface|type) (\w+)|^export \{ \w+ as (\w+) \}/gm;
  return [...text.matchAll(declared)].map(([, own, renamed]) => own ?? renamed);
}

/** Reads the surfaces of one package. @returns what is wrong */
function reportPackage(name, check) {
  const folder = join(root, 'packages', name);
  const surfaces = surfacesOf(folder);
  const results = surfaces.map((surface) => ({ surface, ...report(folder, surface, check) }));
  rmSync(join(folder, 'dist', 'api'), { recursive: true, force: true });
  const exported = new Set(surfaces.flatMap((surface) => exportedNames(folder, surface)));
  return results.flatMap(({ surface, isCurrent, needed }) => [
    ...(isCurrent
      ? []
      : [`packages/${name}/api/${surface.name}.api.md is not current: run "npm run api" and look at the difference`]),
    ...needed
      .filter((symbol) => !exported.has(symbol))
      .map((symbol) => `packages/${name}, ${surface.name}: a signature names ${symbol}, which no surface exports`),
  ]);
}

const check = argv.includes('--check');
ensureBuilt();
const problems = PACKAGES.flatMap((name) => reportPackage(name, check));
for (const problem of problems) console.error(problem);
exit(problems.length === 0 ? 0 : 1);
