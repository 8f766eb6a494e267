import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, expect, it } from 'vitest';
import { NodepoolProcess } from '../nodepool-process.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();
const LABELS = ['small', 'small-1', 'all', 'ungrouped', 'constructor', '__proto__', 'web[1:3]'];
const TEMPLATE = "{{ lookup('pipe', 'echo executed') }}";

beforeAll(() => ensureDebianPackages(['ansible-core']), 300_000);

interface AnsibleInventory {
  _meta: { hostvars: Record<string, Record<string, unknown>> };
  [group: string]: { hosts?: string[]; children?: string[] } & Record<string, unknown>;
}

it('Ansible reads the inventory correctly, whatever characters labels and clouds use', async () => {
  const labels = LABELS.map((name) => ({ name, 'cloud-image': 'debian', 'min-ram': 1024 }));
  const image = { name: 'debian', 'python-path': TEMPLATE };
  await get().launch({
    providers: [{ name: 'cloud-one', pools: [{ labels: [], more: { labels } }], more: { 'cloud-images': [image] } }],
    labels: Object.fromEntries(LABELS.map((name) => [name, {}])),
  });
  const config = join(get().cloud.dir, 'nodepool.yaml');
  await writeFile(config, JSON.stringify({ 'zookeeper-servers': get().zookeeper.servers }));

  const show = ['sh', '-c', 'ansible-inventory --list && ansible -m debug -a var=ansible_python_interpreter small-1'];
  const run = NodepoolProcess.start(['-c', config, 'run', ...LABELS, 'small', '--', ...show]);

  expect(await run.end(), run.stdout + run.stderr).toBe(0);
  const end = run.stdout.indexOf('\n}\n') + 2;
  const inventory = JSON.parse(run.stdout.slice(0, end)) as AnsibleInventory;
  expect(inventory['small']?.hosts).toEqual(['small-1', 'small-2']);
  expect(inventory['small_1']?.hosts).toEqual(['small-1-1']);
  expect(inventory['_all']?.hosts).toEqual(['all-1']);
  expect(inventory['__proto__']?.hosts).toEqual(['__proto__-1']);
  expect(Object.keys(inventory._meta.hostvars)).toHaveLength(LABELS.length + 1);
  expect(run.stdout.slice(end)).toContain(TEMPLATE);
  expect(run.stdout).not.toMatch(/^ *"?executed/m);
  expect(run.stderr).not.toMatch(/WARNING/);
});
