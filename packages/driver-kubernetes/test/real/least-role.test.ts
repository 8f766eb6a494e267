import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '@nodepool/core';
import type { World } from '../world.js';
import { useControlPlane } from './real-world.js';

const { plane, world: start } = useControlPlane();

interface Rule extends Record<string, unknown> {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly resourceNames?: string[];
  readonly verbs: string[];
}

/** The rules in the documentation. */
async function rulesOf(kind: string): Promise<Rule[]> {
  const page = await readFile(new URL('../../../../docs/kubernetes.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text = '']) => parse(text) as { kind?: string; rules: Rule[] },
  );
  const found = blocks.find((block) => block.kind === kind);
  if (!found) throw new Error(`docs/kubernetes.md has no ${kind}`);
  return found.rules;
}

const LABELS: JsonObject[] = [
  { name: 'space', type: 'namespace', 'cluster-role': 'edit' },
  { name: 'small', type: 'pod', image: 'debian', 'cluster-role': 'edit' },
];
const pools = [{ name: 'main', labels: LABELS }];

/** The same rules without a verb on a resource. */
function without(rules: readonly Rule[], resource: string, verb: string): Rule[] {
  return rules.flatMap((rule) => {
    if (!rule.resources.includes(resource) || !rule.verbs.includes(verb)) return [rule];
    const others = rule.resources.filter((one) => one !== resource);
    const rest = { ...rule, resources: [resource], verbs: rule.verbs.filter((one) => one !== verb) };
    return [...(others.length > 0 ? [{ ...rule, resources: others }] : []), ...(rest.verbs.length > 0 ? [rest] : [])];
  });
}

let lastNode = 0;

/** Each case has node numbers of its own: what one may not delete is left to no other. */
const firstNode = () => (lastNode += 100);

/** What a provider says of its whole life: start, launch, deletion. */
async function lifeOf(options: Parameters<typeof start>[0]): Promise<string> {
  let world: World;
  try {
    world = await start(options);
  } catch (error) {
    return String(error);
  }
  const results = [await world.launch('space'), await world.launch('small')];
  const errors: unknown[] = results.map(({ error }) => error);
  for (const { node } of results) await world.cleanUp(node).catch((error: unknown) => errors.push(error));
  const conditions = (world.provider.conditions?.() ?? []).map(({ message }) => message);
  return [...errors.filter((error) => error !== undefined).map(String), ...conditions].join('\n');
}

describe('the least role of the documentation', () => {
  it('is enough', async () => {
    const kubeconfig = await plane().accountKubeconfig('least', await rulesOf('ClusterRole'));

    expect(await lifeOf({ entry: { kubeconfig, pools } })).toBe('');
  });

  it.each([
    ['namespaces', 'create'],
    ['namespaces', 'delete'],
    ['namespaces', 'list'],
    ['pods', 'create'],
    ['pods', 'list'],
    ['serviceaccounts', 'create'],
    ['rolebindings', 'create'],
  ])('without %s %s is too little, and the driver says so', async (resource, verb) => {
    const name = `no-${verb}-${resource.replace('/', '-')}`;
    const kubeconfig = await plane().accountKubeconfig(name, without(await rulesOf('ClusterRole'), resource, verb));

    const said = await lifeOf({
      entry: { kubeconfig, pools, 'launch-retries': 1, 'launch-timeout': 20 },
      firstNode: firstNode(),
    });

    const named = resource === 'rolebindings' ? 'rolebindings.rbac.authorization.k8s.io' : resource;
    expect(said).toContain(`permission is missing: verb "${verb}" on ${named}`);
  });

  it.each([
    ['namespaces', 'watch', 'watch namespaces'],
    ['pods', 'watch', 'watch pods'],
    ['namespaces', 'get', 'get namespaces'],
  ])('without %s %s serves all labels, and the driver says so', async (resource, verb, named) => {
    const name = `less-${verb}-${resource}`;
    const kubeconfig = await plane().accountKubeconfig(name, without(await rulesOf('ClusterRole'), resource, verb));

    const said = await lifeOf({ entry: { kubeconfig, pools }, firstNode: firstNode() });

    expect(said).toMatch(new RegExp(`^the account of the launcher may not ${named} \\(`));
  });

  it('without the right to bind names the remedy', async () => {
    const kubeconfig = await plane().accountKubeconfig(
      'no-bind',
      without(await rulesOf('ClusterRole'), 'clusterroles', 'bind'),
    );

    expect(await lifeOf({ entry: { kubeconfig, pools, 'launch-retries': 1 }, firstNode: firstNode() })).toMatch(
      /attempting to grant RBAC permissions not currently held/,
    );
  });
});
