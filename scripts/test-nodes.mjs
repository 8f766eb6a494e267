// test-nodes.mjs [VERSION...]: unit tests on each supported Node, fetched by npm: the oldest, and the newer lines. The last line of
// each run is test.mjs's; the exit status is 0 only when all pass.
import { spawnSync } from 'node:child_process';
import { ensureBuilt, root } from './ensure.mjs';

const VERSIONS = ['20.19.0', '22', '24'];

await ensureBuilt();
const wanted = process.argv.length > 2 ? process.argv.slice(2) : VERSIONS;
const failed = wanted.filter((version) => {
  console.log(`\nNode ${version}`);
  // npx puts that node first in the path, so what tests start runs on it as well
  const args = ['--yes', '--package', `node@${version}`, '--', 'node', 'scripts/test.mjs', 'unit'];
  const { status } = spawnSync('npx', args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, npm_config_ignore_scripts: 'false' },
  });
  return status !== 0;
});
if (failed.length > 0) {
  console.error(`failed on Node ${failed.join(', ')}`);
  process.exit(1);
}
