import { mapOf, textOf } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { errorLinesOf, linesAbout, loadWritten } from '../../test/support/load-config.js';
import { PLAIN_SCHEMA, plainDriver, registryOf } from '../../test/support/plain-driver.js';

/** A driver that reports each label of an entry, as drivers do for checks beyond the schema. */
const talkative = plainDriver('talkative', {
  schema: {
    ...PLAIN_SCHEMA,
    required: ['cloud'],
    properties: { ...mapOf(PLAIN_SCHEMA['properties']), cloud: { type: 'string' } },
  },
  getProviderConfig(entry, context) {
    const pools = (entry['pools'] ?? []) as { name: string; labels?: { name: string }[] }[];
    pools.forEach((pool, poolIndex) => {
      (pool.labels ?? []).forEach(({ name }, index) => {
        context.problem(['pools', poolIndex, 'labels', index, 'name'], `"${name}" is seen by the driver`);
      });
    });
    context.problem(['cloud'], `cloud "${textOf(entry['cloud']) ?? ''}" is unknown`);
    return plainDriver('talkative').getProviderConfig(entry, context);
  },
  checkAll: (configs, problem) => configs.forEach(({ name }) => problem(name, ['name'], `"${name}" is compared`)),
});

describe('an error hides no other error', () => {
  it('of the same provider: its driver checks the valid part', async () => {
    const yaml = `labels: [{name: a}, {name: b}]
providers:
- name: p
  driver: talkative
  pools:
  - name: m
    max-servers: many
    labels: [{name: a}, {nam: b}, {name: b}]
`;

    expect(await errorLinesOf({ yaml, drivers: registryOf(talkative) })).toEqual([
      'nodepool.yaml:3:3: providers[0]: the key "cloud" is missing',
      'nodepool.yaml:3:9: providers[0].name: "p" is compared',
      'nodepool.yaml:7:18: providers[0].pools[0].max-servers: expected an integer, got text "many"',
      'nodepool.yaml:8:21: providers[0].pools[0].labels[0].name: "a" is seen by the driver',
      'nodepool.yaml:8:25: providers[0].pools[0].labels[1]: the key "name" is missing',
      'nodepool.yaml:8:42: providers[0].pools[0].labels[2].name: "b" is seen by the driver',
    ]);
  });

  it('of an entry with a missing driver: common keys, labels and images are checked', async () => {
    const yaml = `labels: [{name: a}]
diskimages: [{name: i, abstract: true}]
providers:
- name: p
  driver: nope
  priority: high
  any-key: 1
  diskimages: [{name: i}, {name: j}]
  pools:
  - {name: m, max-servers: "2", labels: [{name: aa, any: 1}, {name: a, diskimage: k}]}
- {driver: nope, pools: [{max-servers: 1}]}
`;

    expect(await errorLinesOf({ yaml, mode: 'validate' })).toEqual([
      'nodepool.yaml:5:11: providers[0].driver: driver "nope" is not installed; the same for providers[1] in line 11',
      'nodepool.yaml:6:13: providers[0].priority: expected an integer, got text "high"',
      'nodepool.yaml:8:23: providers[0].diskimages[0].name: diskimage "i" is abstract, expected one that is built',
      'nodepool.yaml:8:34: providers[0].diskimages[1].name: diskimage "j" is not defined, expected an entry of the top-level "diskimages" list, did you mean "i"?',
      'nodepool.yaml:10:28: providers[0].pools[0].max-servers: expected an integer, got text "2" (write it without quotes)',
      'nodepool.yaml:10:49: providers[0].pools[0].labels[0].name: label "aa" is not defined, expected a label of the top-level "labels" list, did you mean "a"?',
      'nodepool.yaml:10:83: providers[0].pools[0].labels[1].diskimage: diskimage "k" is not defined, expected an entry of this provider\'s "diskimages" list, did you mean "i"?',
      'nodepool.yaml:11:3: providers[1]: the key "name" is missing',
      'nodepool.yaml:11:26: providers[1].pools[0]: the key "name" is missing',
    ]);
  });

  it('of the other file', async () => {
    expect(await errorLinesOf({ yaml: 'a: [', secure: 'b: {' })).toEqual([
      expect.stringMatching(/^nodepool\.yaml:1:5: YAML parsing failed: /),
      expect.stringMatching(/^secure\.yaml:1:5: YAML parsing failed: /),
    ]);
  });
});

describe('one cause is reported once', () => {
  it('for a driver that several providers name', async () => {
    const yaml = `providers:
- {name: a, driver: nope}
- {name: b}
- {name: c, driver: nope}
- {driver: nope}
- {name: e}
`;

    expect((await errorLinesOf({ yaml })).filter((line) => line.includes('not installed'))).toEqual([
      'nodepool.yaml:2:21: providers[0].driver: driver "nope" is not installed; the same for "c" in line 4, providers[3] in line 5',
      'nodepool.yaml:3:3: providers[1].driver: driver "openstack" is not installed (without "driver", the driver is openstack); the same for "e" in line 6',
    ]);
  });

  it('for values repeated by an alias', async () => {
    const yaml = `diskimages: []
providers:
- {name: a, driver: plain, diskimages: &images [{name: i}]}
- {name: b, driver: plain, diskimages: *images}
`;

    expect(await errorLinesOf({ yaml })).toEqual([
      expect.stringMatching(
        /^nodepool\.yaml:3:56: providers\[0\]\.diskimages\[0\]\.name: diskimage "i" is not defined/,
      ),
    ]);
  });
});

describe('two providers of one name', () => {
  it('are reported at the second one, even if it is an alias', async () => {
    const yaml = `base: &base {driver: plain}
providers:
- &p {name: p, driver: plain}
- *p
- name: p
  driver: plain
`;

    const said = (await linesAbout({ yaml })).filter((line) => line.includes('already'));
    expect(said).toEqual([
      'nodepool.yaml:4:3: providers[1].name: warning: provider "p" is already defined in line 3, the last one counts: remove the other',
      'nodepool.yaml:5:9: providers[2].name: warning: provider "p" is already defined in line 3, the last one counts: remove the other',
    ]);
  });

  it('keep driver problems at the last one', async () => {
    const yaml = `labels: []
providers:
- {name: p, driver: talkative, cloud: c}
- {name: p, driver: talkative, cloud: c}
`;

    expect(await errorLinesOf({ yaml, drivers: registryOf(talkative) })).toContain(
      'nodepool.yaml:4:10: providers[1].name: "p" is compared',
    );
  });
});

describe('existing files', () => {
  it.each<[string, string, RegExp[]]>([
    [
      'a provider that only takes images',
      'diskimages: [{name: i}]\nproviders: [{name: p, driver: plain, diskimages: [{name: i}]}]',
      [],
    ],
    ['a provider that takes none for now', 'providers: [{name: p, driver: plain, diskimages: []}]', []],
    ['a provider without anything', 'providers: [{name: p, driver: plain}]', [/has neither "pools" nor "diskimages"/]],
    ['a pool without labels', 'providers: [{name: p, driver: plain, pools: [{name: m}]}]', [/pool "m" has no label/]],
    ['a pool that is switched off', 'providers: [{name: p, driver: plain, pools: [{name: m, max-servers: 0}]}]', []],
    [
      'one label twice in a pool',
      'labels: [{name: a}]\nproviders: [{name: p, driver: plain, pools: [{name: m, labels: [{name: a}, {name: a}]}]}]',
      [/:2:83: .*label "a" is already defined in line 2, the last one counts/],
    ],
    [
      'a label of an image that the provider does not list',
      'labels: [{name: a}]\ndiskimages: [{name: i, formats: [raw]}]\nproviders: [{name: p, driver: plain, pools: [{name: m, labels: [{name: a, diskimage: i}]}]}]',
      [/:3:86: .*this provider's "diskimages" do not list "i", so that this label cannot be launched here/],
    ],
  ])('%s', async (_name, yaml, warnings) => {
    expect(await linesAbout({ yaml, mode: 'validate' })).toEqual(
      warnings.map(
        (message) =>
          expect.stringMatching(new RegExp(`: warning: .*${message.source.replace(/^:\d+:\d+: /, '')}`)) as string,
      ),
    );
  });

  it('numbers in the environment of images keep their written form, with a warning that hides them', async () => {
    const yaml =
      'diskimages:\n- {name: i, env-vars: {A: 0755, B: 1_0, C: yes, D: "1", E: 12345678901234567890123456}}\n';
    const config = await loadWritten({ yaml, secure: 'diskimages: [{name: i, env-vars: {S: 42}}]' });

    expect(config.diskimages.get('i')?.envVars).toEqual({
      A: '0755',
      B: '1_0',
      C: 'yes',
      D: '1',
      E: '12345678901234567890123456',
      S: '42',
    });
    const said = config.warnings.filter(({ path }) => path.includes('env-vars'));
    expect(said.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'diskimages[0].env-vars.A: expected text, got a number (put it in quotes): taken as the text that stands here',
      'diskimages[0].env-vars.B: expected text, got a number (put it in quotes): taken as the text that stands here',
      'diskimages[0].env-vars.C: expected text, got a boolean (put it in quotes): taken as the text that stands here',
      'diskimages[0].env-vars.E: expected text, got a number (put it in quotes): taken as the text that stands here',
      'diskimages[0].env-vars.S: expected text, got a number (put it in quotes): taken as the text that stands here',
    ]);
    expect(await errorLinesOf({ yaml, mode: 'validate' })).toHaveLength(4);
  });
});

describe('an invalid file', () => {
  it.each([
    ['nothing', ''],
    ['only a comment', '# nothing here yet\n'],
    ['only a document marker', '---\n'],
  ])('says %s: it is refused, so that a file cut short takes no provider away', async (_name, yaml) => {
    for (const mode of ['service', 'validate'] as const) {
      expect(await errorLinesOf({ yaml, mode })).toEqual([
        expect.stringContaining('the file says nothing, expected a map: a configuration without anything in it is {}'),
      ]);
    }
  });

  it('of a version before 3 is reported once, not per key', async () => {
    const yaml =
      'cron: {}\nlabels:\n- {name: a, image: i, providers: [{name: p}]}\nproviders: [{name: p, max-servers: 1}]\n';

    expect(await errorLinesOf({ yaml })).toEqual([
      expect.stringMatching(/^nodepool\.yaml:3:13: labels\[0\]\.image: this is a file for Nodepool before version 3/),
    ]);
  });

  it('without valid UTF-8 is rejected with the line', async () => {
    expect(await errorLinesOf({ yaml: Buffer.from('labels: []\nimages-dir: /b\xfccher\n', 'latin1') })).toEqual([
      'nodepool.yaml:2:15: this character is not UTF-8, expected UTF-8: save the file in that encoding',
    ]);
  });

  it('has a second document', async () => {
    expect(await errorLinesOf({ yaml: 'labels: []\n---\nproviders: []\n' })).toEqual([
      'nodepool.yaml:2:1: a second document begins here, expected one document in a file: remove the "---", or what follows',
    ]);
  });
});

describe('misleading values', () => {
  it('numbers that are text, and texts that are numbers', async () => {
    const yaml = `max-hold-age: 08
build-log-retention: 1e3
images-dir: 0755
labels:
- {name: 12345678901234567890123456, min-ready: 12345678901234567890123456}
- {name: a, min-ready: "7"}
tenant-resource-limits: [{tenant-name: t, max-ram: .inf}]
`;

    expect(await errorLinesOf({ yaml, mode: 'validate' })).toEqual([
      'nodepool.yaml:1:15: max-hold-age: expected an integer, got text "08" (with a leading zero it is no number: write 8)',
      'nodepool.yaml:2:22: build-log-retention: expected an integer, got text "1e3" (with an exponent it is no number here: write 1000)',
      'nodepool.yaml:3:13: images-dir: expected text, got the number 0755 (put it in quotes)',
      'nodepool.yaml:5:10: labels[0].name: expected text, got the number 12345678901234567890123456 (put it in quotes)',
      'nodepool.yaml:6:24: labels[1].min-ready: expected an integer, got text "7" (write it without quotes)',
      'nodepool.yaml:7:52: tenant-resource-limits[0].max-ram: expected an integer, got the number .inf',
    ]);
    expect(await linesAbout({ yaml })).toEqual([
      'nodepool.yaml:1:15: max-hold-age: warning: expected an integer, got text "08" (with a leading zero it is no number: write 8): taken as 8',
      'nodepool.yaml:2:22: build-log-retention: expected an integer, got text "1e3" (with an exponent it is no number here: write 1000)',
      'nodepool.yaml:3:13: images-dir: warning: expected text, got the number 0755 (put it in quotes): taken as "493"',
      'nodepool.yaml:5:10: labels[0].name: warning: expected text, got the number 12345678901234567890123456 (put it in quotes): taken as "12345678901234567890123456"',
      'nodepool.yaml:5:49: labels[0].min-ready: warning: the number has too many digits to be kept and is taken as 1.2345678901234568e+25: put it in quotes if it is text',
      'nodepool.yaml:6:24: labels[1].min-ready: warning: expected an integer, got text "7" (write it without quotes): taken as 7',
      'nodepool.yaml:7:52: tenant-resource-limits[0].max-ram: warning: expected an integer, got the number .inf: taken as it is',
    ]);
  });

  it('variables that are not set', async () => {
    const yaml = `zookeeper-servers: [{host: "zk.%(NODEPOOL_DOMAIN)"}]
max-hold-age: "%(NODEPOOL_AGE)"
images-dir: /%(HOME)/%(NODEPOOL_DIR)
`;

    expect(await linesAbout({ yaml, env: { NODEPOOL_DIR: 'images' } })).toEqual([
      expect.stringContaining('zookeeper-servers: warning: the connection to ZooKeeper'),
      'nodepool.yaml:1:28: zookeeper-servers[0].host: warning: the environment variable NODEPOOL_DOMAIN is not set, so that %(NODEPOOL_DOMAIN) has no value',
      'nodepool.yaml:2:15: max-hold-age: expected an integer, got text "%(NODEPOOL_AGE)": the environment variable NODEPOOL_AGE is not set, so that %(NODEPOOL_AGE) has no value',
    ]);
    expect(await errorLinesOf({ yaml: 'labels:\n- name: %(NODEPOOL_LABEL)\n' })).toEqual([
      'nodepool.yaml:2:9: the environment variable NODEPOOL_LABEL is not set, so that %(NODEPOOL_LABEL) has no value',
    ]);
  });
});
