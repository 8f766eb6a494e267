// manifests.mjs [--check]: what the package.json files of packages and the links in their READMEs have in common is said once,
// in the package.json of the repository, and written from there. With --check nothing is written; what differs is
// listed and the exit status is 1.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { root } from './ensure.mjs';

const readJson = (file) => JSON.parse(readFileSync(`${root}${file}`, 'utf8'));

/** `https://host/owner/project` of the repository, from its `repository.url`. */
export function webAddress() {
  return readJson('package.json')
    .repository.url.replace(/^git\+/, '')
    .replace(/\.git$/, '');
}

/** Drivers to copy: no workspaces, but they name the same versions. */
const EXAMPLES = ['examples/simple-driver', 'packages/create-driver/template'];

/** Folders and manifests of all packages. */
function allPackages() {
  const dirs = readJson('package.json').workspaces.flatMap((pattern) =>
    pattern.endsWith('/*')
      ? readdirSync(`${root}${pattern.slice(0, -2)}`).map((name) => `${pattern.slice(0, -1)}${name}`)
      : pattern,
  );
  return withManifests(dirs.filter((dir) => existsSync(`${root}${dir}/package.json`)));
}

const withManifests = (dirs) => dirs.map((dir) => ({ dir, manifest: readJson(`${dir}/package.json`) }));

/** Folders and manifests of the packages that are published. */
export const publishedPackages = () => allPackages().filter(({ manifest }) => !manifest.private);

const DEPENDENCIES = ['dependencies', 'peerDependencies', 'devDependencies'];

/** Ranges of neighbours: a package that changed alone is used without a release of the others. */
function rangeFor(range, version) {
  const [, major, minor] = /^\^?(\d+)\.(\d+)\.\d+/.exec(range) ?? [];
  const [ownMajor, ownMinor] = version.split('.');
  const compatible = range.startsWith('^') && major === ownMajor && (major !== '0' || minor === ownMinor);
  return compatible ? range : `^${version}`;
}

/** The manifest of a published package as it should be. */
function published({ dir, manifest }) {
  const { engines, license, repository } = readJson('package.json');
  const { name, version, description, ...others } = { ...manifest, license, type: 'module', engines };
  return {
    name,
    version,
    description,
    ...others,
    repository: { ...repository, directory: dir },
    publishConfig: { access: 'public' },
    scripts: { ...manifest.scripts, prepack: 'node ../../scripts/prepack.mjs' },
  };
}

function withRanges(manifest, versions) {
  const result = { ...manifest };
  for (const kind of DEPENDENCIES.filter((key) => key in manifest)) {
    const entries = Object.entries(manifest[kind]);
    result[kind] = Object.fromEntries(
      entries.map(([other, range]) => [other, versions.has(other) ? rangeFor(range, versions.get(other)) : range]),
    );
  }
  return result;
}

/** READMEs are also shown by registries, where a link to another folder leads nowhere: these become addresses. */
function linksOf(dir, text) {
  const base = `${webAddress()}/blob/main/`;
  return text
    .replace(/\]\((?!https?:|#|mailto:)([^)]+)\)/g, (_link, path) => `](${new URL(path, `${base}${dir}/`).href})`)
    .replace(/\]\(https?:[^)]*?\/blob\/main\/([^)]*)\)/g, (_link, path) => `](${base}${path})`);
}

function differences(write) {
  const packages = allPackages();
  const versions = new Map(packages.map(({ manifest }) => [manifest.name, manifest.version]));
  const examples = withManifests(EXAMPLES).map(({ dir, manifest }) => ({ dir, manifest, isExample: true }));
  const wanted = [...packages, ...examples].flatMap(({ dir, manifest, isExample }) => {
    const whole = manifest.private || isExample ? manifest : published({ dir, manifest });
    const files = [[`${dir}/package.json`, `${JSON.stringify(withRanges(whole, versions), null, 2)}\n`]];
    const readme = `${dir}/README.md`;
    if (!manifest.private && !isExample && existsSync(`${root}${readme}`))
      files.push([readme, linksOf(dir, readFileSync(`${root}${readme}`, 'utf8'))]);
    return files;
  });
  return wanted.filter(([file, text]) => {
    if (readFileSync(`${root}${file}`, 'utf8') === text) return false;
    if (write) writeFileSync(`${root}${file}`, text);
    return true;
  });
}

/** Files of published packages that are not as they should be. */
export const outdatedFiles = () => differences(false).map(([file]) => file);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const files = differences(!check).map(([file]) => file);
  for (const file of files) console.log(check ? `differs: ${file}` : `written: ${file}`);
  if (check && files.length > 0) {
    console.log('npm run manifests writes them');
    process.exit(1);
  }
}
