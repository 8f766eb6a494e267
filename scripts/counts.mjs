// counts.mjs [CHECKOUT]: how large the whole is, and where its seams are, for comparing two states.
// counts.mjs --touched COMMIT...: source and test files that each commit touched in packages, e.g. to add one condition.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

const isTouched = process.argv[2] === '--touched';
const root = resolve((isTouched ? undefined : process.argv[2]) ?? '.');
const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });

/** Tests, their support, and templates of tests. */
const isTest = (file) =>
  /\.test\.[mc]?tsx?$|^packages\/[^/]+\/(template\/)?test\/|^(e2e|tools|simulator|quickstart|examples)\/.*\/test\//.test(
    file,
  );
const isSource = (file) => /^packages\/[^/]+\/(src|page|template)\/.*\.[mc]?[jt]sx?$/.test(file) && !isTest(file);

if (isTouched) {
  console.table(
    process.argv.slice(3).map((commit) => {
      const files = git('show', '--name-only', '--format=', commit).trim().split('\n');
      const subject = git('log', '-1', '--format=%s', commit).trim();
      return { subject, sources: files.filter(isSource).length, tests: files.filter(isTest).length };
    }),
  );
  process.exit();
}

const files = git('ls-files', '-z', '--', '*.ts', '*.tsx', '*.mts', '*.mjs', '*.cjs', '*.js')
  .split('\0')
  .filter((file) => file && existsSync(join(root, file)))
  .filter((file) => !/\.d\.m?ts$|(^|\/)(fixtures|generated)\/|^packages\/[^/]+\/api\//.test(file));
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const parse = (file) =>
  ts.createSourceFile(
    file,
    texts.get(file) ?? '',
    ts.ScriptTarget.Latest,
    true,
    file.endsWith('x') ? ts.ScriptKind.TSX : undefined,
  );

/** Lines with at least one token that are neither an import nor a re-export. */
function codeLines(source) {
  const lines = new Set();
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier)) return;
    if (node.kind <= ts.SyntaxKind.LastToken && node.kind !== ts.SyntaxKind.EndOfFileToken) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
      const last = source.getLineAndCharacterOfPosition(node.end).line;
      for (let line = first; line <= last; line++) lines.add(line);
    }
    node
      .getChildren(source)
      .filter(({ kind }) => kind < ts.SyntaxKind.FirstJSDocNode || kind > ts.SyntaxKind.LastJSDocNode)
      .forEach(visit);
  };
  visit(source);
  return lines.size;
}

const INTERFACES = ['Provider', 'ProviderNotifications', 'Adapter', 'DriverCapabilities'];
const sums = { packages: 0, tests: 0, around: 0 };
const packages = {};
const members = Object.fromEntries(INTERFACES.map((name) => [name, 0]));
const events = new Set();
const uses = new Map([
  ['emit', new Map()],
  ['on', new Map()],
]);

function count(file) {
  const source = parse(file);
  const lines = codeLines(source);
  const name = /^packages\/([^/]+)\//.exec(file)?.[1];
  sums[name === undefined ? 'around' : isTest(file) ? 'tests' : 'packages'] += lines;
  if (name === undefined || isTest(file)) return;
  packages[name] = (packages[name] ?? 0) + lines;
  const visit = (node) => {
    if (ts.isInterfaceDeclaration(node) && file.startsWith('packages/core/src/')) {
      if (INTERFACES.includes(node.name.text)) members[node.name.text] += node.members.length;
      if (node.name.text === 'LauncherEventMap')
        for (const member of node.members) events.add(member.name.getText(source));
    }
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const [event] = node.arguments;
      const known = uses.get(node.expression.name.text);
      if (known && event && ts.isStringLiteralLike(event)) known.set(event.text, (known.get(event.text) ?? 0) + 1);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
files.forEach(count);

/** Source files that name a feature outside its folder; operations of drivers and their tools apart. */
function outside(pattern, home) {
  const isElsewhere = (file) =>
    isSource(file) && !home.test(file) && !/^packages\/(driver-.*|create-driver)\//.test(file);
  return files.filter((file) => isElsewhere(file) && pattern.test(texts.get(file) ?? '')).length;
}

const FEATURES = {
  'stopped spares': [/isStopped|[sS]toppedSpare|stopNode|canStop|keepStopped/, /features\/stopped-spares\//],
  'resumed launches': [/resumedLaunches|isResumable|resumeLaunch/, /features\/resumed-launches\//],
  leases: [/\bLeases\b|LeaseKeeper|leasesOf/, /features\/leases\//],
  standby: [/[sS]tandby/, /features\/stopped-spares\/|^packages\/history\//],
};
const alone = [...events].filter(
  (event) => (uses.get('emit').get(event) ?? 0) <= 1 && (uses.get('on').get(event) ?? 0) === 1,
);
const documents = git('ls-files', '-z', '--', 'docs/*.md')
  .split('\0')
  .filter((file) => file && !file.includes('/adr/'));

console.table({
  'code lines in packages without tests': sums.packages,
  'code lines of tests in packages': sums.tests,
  'code lines around (e2e, simulator, tools, scripts, quickstart)': sums.around,
  'code lines of the largest package': Math.max(...Object.values(packages)),
  'events with one emitter and one listener': alone.length,
  'members of Provider with notifications': members.Provider + members.ProviderNotifications,
  'members of Adapter': members.Adapter,
  'driver capabilities': members.DriverCapabilities,
  ...Object.fromEntries(
    Object.entries(FEATURES).map(([name, [pattern, home]]) => [
      `files outside that name ${name}`,
      outside(pattern, home),
    ]),
  ),
  'lines of documents without ADRs': documents.reduce(
    (sum, file) => sum + readFileSync(join(root, file), 'utf8').split('\n').length,
    0,
  ),
});
