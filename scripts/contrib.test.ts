// What stands around a service (contrib/) fits the services, and the programs that read it take it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const contrib = fileURLToPath(new URL('../contrib/', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(`${contrib}${file}`, 'utf8');
const metrics = readFileSync(`${root}docs/metrics.md`, 'utf8');

/** Names of metrics in a text, without what histograms add. */
const prometheusNames = (text: string): string[] => [
  ...new Set((text.match(/\bnodepool_[a-z_]+/g) ?? []).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))),
];

describe('metrics', () => {
  it.each(['prometheus/nodepool.rules.yml', 'grafana/nodepool.json'])('that %s reads exist', (file) => {
    const names = prometheusNames(read(file)).filter((name) => name !== 'nodepool_explain');

    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => !metrics.includes(`\`${name}\``))).toEqual([]);
  });

  it('that grafana/nodepool-graphite.json reads are sent to statsd', () => {
    const targets = read('grafana/nodepool-graphite.json').match(/stats\.\w+\.(nodepool[\w.*-]+)/g) ?? [];
    const sent = [...metrics.matchAll(/^- `(nodepool\.[^`]+)`/gm)].map(
      ([, name = '']) => new RegExp(`^${name.replaceAll('.', '\\.').replace(/<\w+>/g, '[^.]+')}(\\.mean|\\.count)?$`),
    );
    const names = targets.map((target) => target.replace(/^stats\.\w+\./, '').replace('error.*', 'error'));

    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => !sent.some((pattern) => pattern.test(name)))).toEqual([]);
  });
});

describe('dashboards', () => {
  it.each(readdirSync(`${contrib}grafana`))('%s is one: panels with ids of their own, each with a query', (file) => {
    const { title, uid, panels } = JSON.parse(read(`grafana/${file}`)) as {
      title: string;
      uid: string;
      panels: { id: number; targets: { expr?: string; target?: string }[] }[];
    };

    expect([title, uid].every((text) => text.length > 0)).toBe(true);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.flatMap(({ targets }) => targets.filter((t) => !t.expr && !t.target))).toEqual([]);
  });
});

/** Programs of others that read files of ours; each is asked where it is installed. */
const readers = [
  ['/usr/bin/promtool', ['check', 'rules', `${contrib}prometheus/nodepool.rules.yml`]],
  ['/usr/bin/systemd-analyze', ['verify', '--man=no', `${contrib}systemd/nodepool-launcher.service`]],
  ['/usr/bin/systemd-analyze', ['verify', '--man=no', `${contrib}systemd/nodepool-builder.service`]],
  ['/bin/bash', ['-n', `${contrib}elements/nodepool-lease-ca/post-install.d/60-nodepool-lease-ca`]],
] as const;

describe('programs of others', () => {
  const installed = readers.filter(([program]) => existsSync(program));

  it('take what is meant for them', () => {
    const refusals = installed.flatMap(([program, args]) => {
      try {
        execFileSync(program, args, { stdio: 'pipe' });
        return [];
      } catch (error) {
        return [`${program} ${args.join(' ')}: ${String((error as { stderr?: Buffer }).stderr)}`];
      }
    });

    expect(refusals).toEqual([]);
  });
});

describe('systemd units', () => {
  it.each([
    ['launcher', 60],
    ['builder', 28_800], // the default of build-timeout: a stop waits for builds
  ])('of the %s reload, are watched, and have time to drain', (service, drainSeconds) => {
    const unit = read(`systemd/nodepool-${service}.service`);

    expect(unit).toMatch(/^Type=notify$/m);
    expect(unit).toMatch(/^NotifyAccess=all$/m);
    expect(unit).toMatch(/^WatchdogSec=\d+$/m);
    expect(unit).toMatch(/^ExecReload=.*-HUP/m);
    expect(Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThanOrEqual(65_536);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(drainSeconds);
  });

  it('do not share directories: each start would give them to the user of its unit', () => {
    const directories = ['launcher', 'builder'].flatMap((service) => [
      ...new Set(read(`systemd/nodepool-${service}.service`).match(/(?<=^(?:State|Logs)Directory=)\S+$/gm)),
    ]);

    expect(directories).toEqual(['nodepool', 'nodepool-builder']);
  });

  it('let the launcher have no privileges', () => {
    const unit = read('systemd/nodepool-launcher.service');

    for (const line of ['User=nodepool', 'NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'ProtectSystem=strict']) {
      expect(unit.split('\n')).toContain(line);
    }
  });
});

/** Lines of a Dockerfile, and those with an instruction. */
function dockerfile(name: string) {
  const lines = read(`docker/${name}`)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const of = (instruction: string) => lines.filter((line) => line.startsWith(`${instruction} `));
  return { order: lines.map((line) => line.split(' ')[0]), of };
}

describe.each([
  ['Dockerfile', '@nodepool/launcher'],
  ['Dockerfile.builder', '@nodepool/builder'],
])('%s', (file, service) => {
  const { of } = dockerfile(file);

  it('installs packages of this repository and no others of this name', () => {
    const text = [...of('RUN'), ...of('ARG')].join(' ');
    const names = text.match(/@nodepool\/[a-z-]+/g) ?? [];

    const unknown = names.filter(
      (name) => !existsSync(`${root}packages/${name.replace('@nodepool/', '')}/package.json`),
    );
    expect(names).toContain(service);
    expect(unknown).toEqual([]);
  });

  it('starts programs that get the signals themselves', () => {
    expect(of('STOPSIGNAL')).toEqual(['STOPSIGNAL SIGTERM']);
    for (const line of [...of('ENTRYPOINT'), ...of('CMD')]) {
      expect(Array.isArray(JSON.parse(line.slice(line.indexOf('['))))).toBe(true);
    }
  });
});

it('the Dockerfile of the launcher ends as another user than root', () => {
  const { of, order } = dockerfile('Dockerfile');

  expect(of('USER')).toEqual(['USER nodepool']);
  expect(order.lastIndexOf('RUN')).toBeLessThan(order.indexOf('USER'));
});

describe('kubernetes', () => {
  const files = readdirSync(`${contrib}kubernetes`).filter((file) => file.endsWith('.yaml'));
  const text = files.map((file) => read(`kubernetes/${file}`)).join('\n');

  it('has folders, ports and arguments of the images', () => {
    for (const file of ['Dockerfile', 'Dockerfile.builder']) {
      const { of } = dockerfile(file);
      expect(text).toContain(`containerPort: ${of('EXPOSE')[0]?.split(' ')[1] ?? ''}`);
      expect(text).toContain(`mountPath: ${of('VOLUME')[0]?.split(' ')[1] ?? ''} }`);
    }
    expect(text).toContain(`runAsUser: ${/--uid (\d+)/.exec(dockerfile('Dockerfile').of('RUN').join(' '))?.[1] ?? ''}`);
  });

  it('lets each service drain: a pod has more time than its --drain-timeout', () => {
    for (const service of ['launcher', 'builder']) {
      const yaml = read(`kubernetes/${service}.yaml`);
      const drain = Number(/--drain-timeout, '(\d+)'/.exec(yaml)?.[1]);
      expect(Number(/terminationGracePeriodSeconds: (\d+)/.exec(yaml)?.[1])).toBeGreaterThan(drain);
    }
  });

  it('has a configuration that nodepool config-validate accepts', () => {
    const args = ['-c', `${contrib}kubernetes/nodepool.yaml`, '-s', `${contrib}kubernetes/secure.conf`];
    const command = [`${root}packages/cli/bin/nodepool.js`, ...args, 'config-validate'];

    expect(execFileSync(process.execPath, command, { encoding: 'utf8', stdio: 'pipe' })).toContain('is valid');
  });
});
