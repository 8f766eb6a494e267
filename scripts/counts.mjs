// counts.mjs [CHECKOUT]: how large the whole is: code lines, classes, exported names, files without a test of their own. For comparing two states.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(process.argv[2] ?? '.');
/** Files up to this length need no test of their own, lines. */
const SHORT = 60;

const sourcesIn = (folder) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.tsx?$/.test(file) && !/\.(test|d)\.tsx?$/.test(file) && !file.includes('node_modules'))
        .map((file) => join(root, folder, file))
    : [];
const packages = (parent) => (existsSync(join(root, parent)) ? readdirSync(join(root, parent)) : []);
const parse = (file) => ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);

/** Lines with at least one token: neither blank nor only a comment. */
function codeLines(source) {
  const lines = new Set();
  const visit = (node) => {
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

function classesIn(source) {
  let count = 0;
  const visit = (node) => {
    if (ts.isClassLike(node)) count++;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return count;
}

/** Names that an index exports by list. */
const exportedNames = (file) =>
  parse(file)
    .statements.filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) => exportClause?.elements ?? []).length;

const published = packages('packages').flatMap((name) => sourcesIn(`packages/${name}/src`));
const tools = [...packages('tools').map((name) => `tools/${name}/src`), 'simulator/src', 'quickstart/src'].flatMap(
  sourcesIn,
);
const wing = sourcesIn('packages/core/src/launcher').map(parse);
const long = [...published, ...tools].filter((file) => readFileSync(file, 'utf8').trimEnd().split('\n').length > SHORT);
const lacking = long.filter(
  (file) => !['.test.ts', '.slow.test.ts'].some((end) => existsSync(file.replace(/\.tsx?$/, end))),
);

console.table({
  'code lines in packages/*/src': published.map(parse).reduce((sum, source) => sum + codeLines(source), 0),
  'files in packages/*/src': published.length,
  'files in core/src/launcher': wing.length,
  'code lines in core/src/launcher': wing.reduce((sum, source) => sum + codeLines(source), 0),
  'classes in core/src/launcher': wing.reduce((sum, source) => sum + classesIn(source), 0),
  'names exported by the root of core': exportedNames(join(root, 'packages/core/src/index.ts')),
  'source files over 60 lines': long.length,
  'of these without a test of their name': lacking.length,
});
