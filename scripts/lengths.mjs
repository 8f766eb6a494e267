// How long classes and functions are, with their names and places; tests count as well, but not what registers them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** Longest class, and longest function without a reason, in lines. */
export const LONGEST = { class: 250, function: 40 };

/** Begins the sentence, in the comment above a longer function, that says why the function is not split. */
export const REASON = 'In one piece: ';

const FOLDERS = ['src', 'test', 'page', 'template'];
const REGISTERS = /^(describe|it|test|beforeEach|afterEach|beforeAll|afterAll)\b/;

const walk = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', 'dist', 'fixtures'].includes(entry.name)) return [];
    return entry.isDirectory() ? walk(join(dir, entry.name)) : [join(dir, entry.name)];
  });

/** Every source file of a package, its tests included. */
export const sourceFiles = (packageFolder) =>
  FOLDERS.map((folder) => join(packageFolder, folder))
    .filter(existsSync)
    .flatMap(walk)
    .filter((file) => /\.(tsx?|js)$/.test(file) && !file.endsWith('.d.ts'));

export const parse = (file) => ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);

/** Lines that a class or function takes in its file, without the comment above it. */
export const linesOf = (node, source) =>
  source.getLineAndCharacterOfPosition(node.end).line -
  source.getLineAndCharacterOfPosition(node.getStart(source)).line +
  1;

export const isFunction = (node) => ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;

export const nameOf = (node, source) =>
  ts.isConstructorDeclaration(node)
    ? `${node.parent.name?.getText(source) ?? 'class'}.constructor`
    : (node.name?.getText(source) ?? node.parent?.name?.getText?.(source) ?? 'unnamed');

/** A test, a group of tests, or a function that makes some: as long as its tests are. */
function registersTests(node) {
  if (ts.isCallExpression(node.parent) && REGISTERS.test(node.parent.expression.getText())) return true;
  const calls = (below) =>
    (ts.isCallExpression(below) && REGISTERS.test(below.expression.getText())) ||
    ts.forEachChild(below, calls) === true;
  return calls(node.body);
}

function hasReason(node, source) {
  const above = ts.findAncestor(node, (one) => ts.isStatement(one) || ts.isClassElement(one)) ?? node;
  return source.text.slice(above.getFullStart(), node.getStart(source)).includes(REASON);
}

/** Classes and functions that are longer than they may be, of one package. */
export function tooLong(packageFolder) {
  const found = [];
  for (const file of sourceFiles(packageFolder)) {
    const source = parse(file);
    const note = (kind, node) => found.push({ kind, lines: linesOf(node, source), name: nameOf(node, source), file });
    const visit = (node) => {
      if (ts.isClassLike(node) && linesOf(node, source) > LONGEST.class) note('class', node);
      const isLong = isFunction(node) && linesOf(node, source) > LONGEST.function;
      if (isLong && !registersTests(node) && !hasReason(node, source)) note('function', node);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

/** What authors of drivers copy. */
export const examples = () => readdirSync('examples').map((name) => join('examples', name));

/** Every package, tool, and the programs that test them. */
export const allPackages = () => [
  ...['packages', 'tools'].flatMap((parent) => readdirSync(parent).map((name) => join(parent, name))),
  ...['simulator', 'quickstart', 'e2e'],
];
