// api-report.mjs [--check]: writes down what authors of drivers build on, the exports of @nodepool/core, so that a change of it is seen
// in review. With --check nothing is written; the exit status is 1 when the file is not current.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { ensureBuilt, root } from './ensure.mjs';

const folder = join(root, 'packages', 'core');
const reportFolder = join(folder, 'api');
const reportTempFolder = join(folder, 'dist', 'api');

/**
 * The report also has the types that signatures name and that are not exported, such as options: an author of a driver fills them in
 * without their names, and depends on them all the same.
 */
function configure() {
  mkdirSync(reportTempFolder, { recursive: true });
  mkdirSync(reportFolder, { recursive: true });
  return ExtractorConfig.prepare({
    configObjectFullPath: join(folder, 'api-extractor.json'),
    packageJsonFullPath: join(folder, 'package.json'),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, 'dist', 'index.d.ts'),
      compiler: { overrideTsconfig: { compilerOptions: { module: 'NodeNext', skipLibCheck: true, types: ['node'] } } },
      apiReport: {
        enabled: true,
        includeForgottenExports: true,
        reportFileName: 'index.api.md',
        ...{ reportFolder, reportTempFolder },
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

const check = argv.includes('--check');
await ensureBuilt();
const { apiReportChanged, errorCount } = Extractor.invoke(configure(), {
  localBuild: !check,
  showVerboseMessages: false,
  messageCallback: (message) => {
    message.handled = message.logLevel !== 'error';
  },
});
rmSync(reportTempFolder, { recursive: true, force: true });
const isWrong = check ? apiReportChanged : errorCount > 0;
if (isWrong)
  console.error('packages/core/api/index.api.md is not current: run "npm run api" and look at the difference');
exit(isWrong ? 1 : 0);
