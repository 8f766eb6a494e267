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

/**
 * The settings of one surface. The report of a root also has the types that its signatures name and that it does not export, such as
 * options: an author of a driver fills them in without their names, and depends on them all the same.
 */
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
        includeForgottenExports: name === 'index',
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
        extractorMessageReporting: { default: { logLevel: 'none' } },
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

/** Reads the surfaces of one package. @returns what is wrong */
function reportPackage(name, check) {
  const folder = join(root, 'packages', name);
  const outdated = surfacesOf(folder).filter((surface) => !report(folder, surface, check));
  rmSync(join(folder, 'dist', 'api'), { recursive: true, force: true });
  return outdated.map(
    (surface) =>
      `packages/${name}/api/${surface.name}.api.md is not current: run "npm run api" and look at the difference`,
  );
}

const check = argv.includes('--check');
await ensureBuilt();
const problems = PACKAGES.flatMap((name) => reportPackage(name, check));
for (const problem of problems) console.error(problem);
exit(problems.length === 0 ? 0 : 1);
