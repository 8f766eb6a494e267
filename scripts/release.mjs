// release.mjs version [--alone] [OPTION...] | publish [OPTION...] | --dry-run: the two steps of a release, done by lerna.
//   version    new versions and changelogs from the commits since the last release, as one commit with a tag a package. Packages
//              that depend on a changed one get a version as well; with --alone they do not, as they accept the new one.
//   publish    builds and publishes what the registry does not have. May be repeated after a failure.
//   --dry-run  after either step, or alone for both: says what it would do, and changes nothing.
// Further options are lerna's, such as --yes, --no-push, --registry.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, ensureInstalled, root, runOrExit } from './ensure.mjs';
import { outdatedFiles, publishedPackages } from './manifests.mjs';
import { BUILT } from './prepack.mjs';

/** Systems that vouch for what they publish: npm shows it as provenance. */
const VOUCHES = process.env.GITHUB_ACTIONS !== undefined || process.env.GITLAB_CI !== undefined;

function lerna(args, cwd = root) {
  const { status, error } = spawnSync(process.execPath, [bin('lerna/dist/cli.js'), ...args], {
    cwd,
    stdio: 'inherit',
    env: {
      ...process.env,
      NX_DAEMON: 'false',
      // the repository's .npmrc forbids scripts of dependencies; ours build what is packed
      npm_config_ignore_scripts: 'false',
      [BUILT]: '1',
      ...(VOUCHES && { npm_config_provenance: 'true' }),
    },
  });
  if (error) throw error;
  return status ?? 1;
}

const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });

/** Names of the versions as tags, which the next `version` counts from. A first release has none yet. */
function tagReleased() {
  for (const { manifest } of publishedPackages()) {
    const tag = `${manifest.name}@${manifest.version}`;
    if (git('rev-parse', '--verify', '--quiet', `refs/tags/${tag}`).status !== 0) git('tag', tag, '-m', tag);
  }
}

/** lerna reads this from its file alone: it is in there while lerna runs, and git does not look. */
function withoutDependents(run) {
  const file = `${root}lerna.json`;
  const text = readFileSync(file, 'utf8');
  const settings = JSON.parse(text);
  settings.command.version.excludeDependents = true;
  git('update-index', '--assume-unchanged', 'lerna.json');
  try {
    writeFileSync(file, JSON.stringify(settings));
    return run();
  } finally {
    writeFileSync(file, text);
    git('update-index', '--no-assume-unchanged', 'lerna.json');
  }
}

function version(args) {
  const others = args.filter((arg) => arg !== '--alone');
  const run = () => lerna(['version', ...others]);
  return args.includes('--alone') ? withoutDependents(run) : run();
}

/** All at once, which takes a third of the time that each package would need before it is packed. */
async function buildAfresh() {
  const dirs = publishedPackages().map(({ dir }) => dir);
  for (const dir of dirs) rmSync(`${root}${dir}/dist`, { recursive: true, force: true });
  await runOrExit(process.execPath, [bin('typescript/bin/tsc'), '-b', ...dirs]);
}

async function publish(args) {
  const outdated = outdatedFiles();
  if (outdated.length > 0) {
    console.error(`npm run manifests first: ${outdated.join(', ')}`);
    return 1;
  }
  await buildAfresh();
  const status = lerna(['publish', 'from-package', '--yes', ...args]);
  if (status === 0) tagReleased();
  return status;
}

/** Makes the versions in a clone of the last commit, and lists them. */
function rehearseVersion(args) {
  const clone = mkdtempSync(join(tmpdir(), 'nodepool-release-'));
  try {
    git('clone', '--quiet', '--shared', root, clone);
    symlinkSync(`${root}node_modules`, join(clone, 'node_modules'));
    const others = args.filter((arg) => arg !== '--alone');
    const status = lerna(['version', ...others, '--yes', '--no-push', '--no-git-tag-version'], clone);
    if (status !== 0) return status;
    for (const { dir, manifest } of publishedPackages()) {
      const { version } = JSON.parse(readFileSync(join(clone, dir, 'package.json'), 'utf8'));
      if (version !== manifest.version)
        console.log(`would version ${manifest.name}: ${manifest.version} -> ${version}`);
    }
    return 0;
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}

/** Whether the registry has a version. @throws the registry did not say: only E404 means that it is missing */
function isPublished(id) {
  const { status, stdout, stderr } = spawnSync('npm', ['view', id, 'version'], { cwd: root, encoding: 'utf8' });
  // A known package without this version is an answer with nothing in it.
  if (status === 0) return stdout.trim() !== '';
  if (/\bE404\b/.test(stderr)) return false;
  throw new Error(`npm view ${id} failed: ${stderr.trim()}`);
}

/** Lists the versions that the registry does not have. */
function rehearsePublish() {
  try {
    for (const { manifest } of publishedPackages()) {
      const id = `${manifest.name}@${manifest.version}`;
      console.log(`${isPublished(id) ? 'is published' : 'would publish'} ${id}`);
    }
    return 0;
  } catch (error) {
    console.error(`cannot tell what would be published: ${error.message}`);
    return 1;
  }
}

const [step, ...args] = process.argv.slice(2);
const isDryRun = args.includes('--dry-run');
const options = args.filter((arg) => arg !== '--dry-run');
await ensureInstalled();
if (step === '--dry-run') process.exitCode = rehearseVersion(options) || rehearsePublish();
else if (step === 'version') process.exitCode = isDryRun ? rehearseVersion(options) : version(options);
else if (step === 'publish') process.exitCode = isDryRun ? rehearsePublish() : await publish(options);
else {
  console.error('usage: npm run release -- version [--alone] [OPTION...] | publish [OPTION...] | --dry-run');
  process.exit(2);
}
