// api-reports.mjs [--check]: writes down what the packages that others build on export, one file for each surface, so that a
// change of it is seen in review. With --check nothing is written; the exit status is 1 when a file is not current.
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

/** The settings of one surface. Only names that are reachable and not exported, and missing releases, are of no interest. */
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
          'ae-forgotten-export': { logLevel: 'warning', addToApiReportFile: true },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  });
}

/** Reads one surface. @returns whether its report is current */
function report(folder, surface, check) {
  const result = Extractor.invoke(configure(folder, surface), {
    localBuild: !check,
    showVerboseMessages: false,
    messageCallback: (message) => {
      message.handled = message.logLevel !== 'error';
    },
  });
  return check ? !result.apiReportChanged : result.errorCount === 0;
}

const check = argv.includes('--check');
ensureBuilt();
let current = true;
for (const name of PACKAGES) {
  const folder = join(root, 'packages', name);
  for (const surface of surfacesOf(folder)) {
    if (report(folder, surface, check)) continue;
    current = false;
    console.error(
      `packages/${name}/api/${surface.name}.api.md is not current: run "npm run api" and look at the difference`,
    );
  }
  rmSync(join(folder, 'dist', 'api'), { recursive: true, force: true });
}
exit(current ? 0 : 1);
