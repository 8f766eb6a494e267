// The pictures in docs/state-machines.md show what the tables in the sources say.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Sources are loaded by address: scripts do not import the inside of packages. */
const load = (file: string): Promise<Record<string, unknown>> =>
  import(join(root, file)) as Promise<Record<string, unknown>>;

const page = read('docs/state-machines.md');

/** The start and the end of a picture. */
const OUTSIDE = '[*]';

/** The arrows of the n-th picture below a heading, as `from > to`. */
function picture(heading: string, n = 0): string[] {
  const [, below = ''] = page.split(`\n## ${heading}\n`);
  const [section = ''] = below.split('\n## ');
  const text = [...section.matchAll(/```mermaid\n([\s\S]*?)```/g)][n]?.[1] ?? '';
  const names = new Map(
    [...text.matchAll(/state "([^"]+)" as (\w+)/g)].map(([, name = '', alias = '']) => [alias, name]),
  );
  const nameOf = (word: string) => (names.get(word) ?? word.replaceAll('_', '-')).replace(/ state$/, '');
  const arrows = [...text.matchAll(/^ *(\S+) --> ([^\s:]+)/gm)];
  return [...new Set(arrows.map(([, from = '', to = '']) => `${nameOf(from)} > ${nameOf(to)}`))].sort();
}

/** Without waiting, which is an arrow from a state to itself, and without beginnings and ends. */
const inner = (arrows: readonly string[]): string[] =>
  arrows.filter((arrow) => {
    const [from, to] = arrow.split(' > ');
    return from !== to && from !== OUTSIDE && to !== OUTSIDE;
  });

interface RecordTransition {
  readonly from: string | undefined;
  readonly to: string | undefined;
}

async function recordTransitions(table: string): Promise<string[]> {
  const rows = (await load('packages/zk-protocol/src/records/states.ts'))[table] as readonly RecordTransition[];
  return [...new Set(rows.map(({ from = OUTSIDE, to = OUTSIDE }) => `${from} > ${to}`))].sort();
}

/** The arrows of a table of stages, each with the names of those it leads to. */
async function stageTable(file: string, table: string, first: string, last: string): Promise<string[]> {
  const rows = (await load(file))[table] as Record<string, { readonly next: readonly string[] }>;
  const arrows = Object.entries(rows).flatMap(([from, { next }]) =>
    next.map((to) => `${from} > ${to === last ? OUTSIDE : to}`),
  );
  return [`${OUTSIDE} > ${first}`, ...arrows].sort();
}

/** The arrows of a machine: for each key of its handlers the states that a `goto` within its reach names. */
function machine(file: string, table: string): string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const functions = new Map<string, ts.Node>();
  let handlers: ts.ObjectLiteralExpression | undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node) && node.name) functions.set(node.name.text, node);
    if (ts.isVariableDeclaration(node) && node.name.getText() === table && node.initializer) {
      const value = ts.isSatisfiesExpression(node.initializer) ? node.initializer.expression : node.initializer;
      if (ts.isObjectLiteralExpression(value)) handlers = value;
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const arrows = (handlers?.properties ?? []).flatMap((property) => {
    const from = property.name && (ts.isStringLiteral(property.name) ? property.name.text : property.name.getText());
    return [...targetsOf(property, functions)].map((to) => `${from} > ${to}`);
  });
  return arrows.sort();
}

function targetsOf(start: ts.Node, functions: ReadonlyMap<string, ts.Node>): Set<string> {
  const found = new Set<string>();
  const seen = new Set<ts.Node>();
  const visit = (node: ts.Node, inGoto: boolean): void => {
    if (ts.isIdentifier(node)) {
      const called = functions.get(node.text);
      if (called && !seen.has(called)) {
        seen.add(called);
        visit(called, false);
      }
    }
    if (inGoto && ts.isPropertyAssignment(node) && node.name.getText() === 'name') {
      const collect = (value: ts.Node): void => {
        if (ts.isStringLiteral(value)) found.add(value.text);
        else if (ts.isConditionalExpression(value)) [value.whenTrue, value.whenFalse].forEach(collect);
      };
      collect(node.initializer);
    }
    const isGoto = ts.isCallExpression(node) && node.expression.getText() === 'goto';
    ts.forEachChild(node, (child) => visit(child, inGoto || isGoto));
  };
  visit(start, false);
  return found;
}

describe('pictures of records', () => {
  it('show every change of a node that the data model knows', async () => {
    expect(picture('Nodes')).toEqual(await recordTransitions('NODE_TRANSITIONS'));
  });

  it('show every change of a request that the data model knows', async () => {
    expect(picture('Requests')).toEqual(await recordTransitions('REQUEST_TRANSITIONS'));
  });
});

describe('pictures of stages', () => {
  it('show the work on a request', async () => {
    const file = 'packages/core/src/launcher/requests/stages.ts';

    expect(picture('The work on a request')).toEqual(await stageTable(file, 'REQUEST_STAGES', 'accepting', 'ended'));
  });

  it('show an attempt to launch a node', async () => {
    const { LAUNCH_STAGES } = await load('packages/core/src/cloud/state-machine/launch-attempts.ts');
    const stages = [OUTSIDE, ...(LAUNCH_STAGES as readonly string[]), OUTSIDE];
    const inOrder = stages.slice(1).map((stage, i) => `${stages[i]} > ${stage}`);

    expect(picture('Launch')).toEqual([...inOrder, 'booting > storing'].sort());
  });
});

describe('pictures of operations', () => {
  it.each([
    ['Create', 0, 'packages/driver-fake/src/driver/create-node.ts', 'createHandlers'],
    ['Delete', 0, 'packages/driver-fake/src/driver/delete-node.ts', 'deleteHandlers'],
    ['Create and delete in OpenStack', 0, 'packages/driver-openstack/src/create-node.ts', 'createHandlers'],
    ['Create and delete in OpenStack', 1, 'packages/driver-openstack/src/delete-node.ts', 'deleteHandlers'],
  ])('show the handlers: %s, picture %i', (heading, n, file, table) => {
    const arrows = inner(machine(file, table));

    expect(arrows.length).toBeGreaterThan(0);
    expect(inner(picture(heading, n))).toEqual(arrows);
  });
});
