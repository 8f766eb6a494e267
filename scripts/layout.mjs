// layout.mjs [FOLDER...]: measures how the sources of packages lie: folders, levels of imports (type-only ones included), imports
// that run upwards, circles of folders and of files, the longest file, class and function, and, tests included, the classes and
// functions that are longer than they may be. Without a folder: every package, tool, and the programs that test them. The exit
// status is 1 when there is a circle, an upward import, or something too long.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { allPackages, isFunction, linesOf, nameOf, parse, tooLong } from './lengths.mjs';
import { mayImport, ROOMS } from './rooms.cjs';

const walk = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? walk(join(dir, entry.name)) : [join(dir, entry.name)],
  );

const isSource = (file) => /\.tsx?$/.test(file) && !/\.(test|d)\.tsx?$/.test(file);

/** The files of the same package that a file imports or re-exports, types included. */
function importsOf(source) {
  const targets = [];
  const add = (specifier) => {
    if (!specifier.startsWith('.')) return;
    const path = resolve(dirname(source.fileName), specifier);
    const found = [path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].find((file) => existsSync(file));
    if (found) targets.push(found);
  };
  const visit = (node) => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      add(node.moduleSpecifier.text);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal.text);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      if (node.arguments[0] && ts.isStringLiteral(node.arguments[0])) add(node.arguments[0].text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return targets;
}

/** Strongly connected components with more than one member (Tarjan). `graph` maps a name to the set of names it needs. */
function circles(graph) {
  const index = new Map();
  const low = new Map();
  const stack = [];
  const found = [];
  const connect = (node) => {
    index.set(node, index.size);
    low.set(node, index.get(node));
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) connect(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)));
    }
    if (low.get(node) !== index.get(node)) return;
    const component = stack.splice(stack.indexOf(node));
    if (component.length > 1) found.push(component.sort());
  };
  for (const node of graph.keys()) if (!index.has(node)) connect(node);
  return found;
}

/** The longest way down through the folders; folders in a circle count as one. */
function levels(graph) {
  const inCircle = new Map(circles(graph).flatMap((circle) => circle.map((name) => [name, circle[0]])));
  const nameOf = (folder) => inCircle.get(folder) ?? folder;
  const merged = new Map();
  for (const [folder, needs] of graph) {
    const all = merged.get(nameOf(folder)) ?? new Set();
    for (const need of needs) if (nameOf(need) !== nameOf(folder)) all.add(nameOf(need));
    merged.set(nameOf(folder), all);
  }
  const depth = new Map();
  const measure = (folder) => {
    if (!depth.has(folder)) depth.set(folder, 1 + Math.max(0, ...[...(merged.get(folder) ?? [])].map(measure)));
    return depth.get(folder);
  };
  return Math.max(0, ...[...merged.keys()].map(measure));
}

function longest(sources, matches) {
  let most = { lines: 0, name: '' };
  for (const source of sources) {
    const visit = (node) => {
      if (matches(node)) {
        const lines = linesOf(node, source);
        if (lines > most.lines) most = { lines, name: `${nameOf(node, source)} in ${source.fileName}` };
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return most;
}

function edgesOf(graph) {
  return [...graph].flatMap(([from, needs]) => [...needs].map((to) => [from, to]));
}

/** All figures of one package. */
export function measure(packageFolder) {
  const src = join(packageFolder, 'src');
  const files = walk(src).filter(isSource);
  const sources = files.map(parse);
  const fileGraph = new Map(sources.map((s) => [relative(src, s.fileName), new Set()]));
  const folderGraph = new Map();
  for (const source of sources) {
    const from = relative(src, source.fileName);
    const fromFolder = dirname(from);
    if (!folderGraph.has(fromFolder)) folderGraph.set(fromFolder, new Set());
    for (const target of importsOf(source)) {
      const to = relative(resolve(src), target);
      fileGraph.get(from).add(to);
      if (dirname(to) !== fromFolder) folderGraph.get(fromFolder).add(dirname(to));
    }
  }
  const table = ROOMS[relative('.', packageFolder)];
  const upwards = table ? edgesOf(fileGraph).filter(([from, to]) => !mayImport(table, from, to)) : [];
  const byLines = sources.map((s) => ({ lines: s.getLineStarts().length - 1, name: s.fileName }));
  return {
    files: files.length,
    folders: folderGraph.size,
    folderImports: edgesOf(folderGraph).length,
    levels: levels(folderGraph),
    upwards,
    folderCircles: circles(folderGraph),
    fileCircles: circles(fileGraph),
    longestFile: byLines.reduce((a, b) => (b.lines > a.lines ? b : a)),
    longestClass: longest(sources, ts.isClassLike),
    longestFunction: longest(sources, isFunction),
    tooLong: tooLong(packageFolder),
  };
}

const given = process.argv.slice(2);
const folders = given.length > 0 ? given : allPackages();
let broken = false;
for (const folder of folders) {
  const m = measure(folder);
  const list = (title, rows) => rows.length > 0 && console.log(`  ${title}\n${rows.map((r) => `    ${r}`).join('\n')}`);
  console.log(
    `${folder}: ${m.files} files, ${m.folders} folders, ${m.folderImports} imports between folders on ${m.levels} levels, ` +
      `${m.upwards.length} upwards, ${m.folderCircles.length} folder circles, ${m.fileCircles.length} file circles`,
  );
  for (const kind of ['File', 'Class', 'Function']) {
    const { lines, name } = m[`longest${kind}`];
    console.log(`  longest ${kind.toLowerCase()}: ${lines} lines, ${name}`);
  }
  list(
    'upwards:',
    m.upwards.map(([from, to]) => `${from} -> ${to}`),
  );
  list(
    'folder circles:',
    m.folderCircles.map((circle) => circle.join(', ')),
  );
  list(
    'file circles:',
    m.fileCircles.map((circle) => circle.join(', ')),
  );
  list(
    'too long:',
    m.tooLong.map(({ kind, lines, name, file }) => `${kind} ${name}: ${lines} lines, ${file}`),
  );
  broken ||= m.tooLong.length > 0;
  broken ||= m.upwards.length + m.folderCircles.length + m.fileCircles.length > 0;
}
process.exitCode = broken ? 1 : 0;
