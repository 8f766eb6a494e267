import { describe, expect, it } from 'vitest';
import { linesAbout, loadWritten } from '../../test/support/load-config.js';
import { PLAIN_SCHEMA, plainDriver, registryOf } from '../../test/support/plain-driver.js';

const MIXED = `webapp: {port: 8005, socket-mode: none}
zookeeper-timeout: 10
labels:
- name: small
  standby: {follow: 5}
- {name: big, min-ready: 1}
providers:
- name: one
  driver: plain
  steering: false
  password: secret
  pools:
  - name: main
    labels:
    - {name: small, zones: [a, b]}
    - {name: big, zones: a}
  - {name: empty, max-servers: 0}
`;
const drivers = registryOf(
  plainDriver('plain', {
    schema: { ...PLAIN_SCHEMA, 'x-ours': ['password', 'pools[].labels[].zones: list', 'pools[].labels: required'] },
  }),
);
const about = (yaml: string, asOriginal = true) => linesAbout({ yaml, mode: 'validate', asOriginal, drivers });

describe('a file for the original', () => {
  it('has an error for each key and kind of value that the original does not know, at its place', async () => {
    expect(await about(MIXED)).toEqual([
      'nodepool.yaml:1:22: webapp.socket-mode: "socket-mode" is not known to the original',
      expect.stringMatching(
        /^nodepool\.yaml:2:20: zookeeper-timeout: .* a number without a point is refused by config-validate/,
      ),
      'nodepool.yaml:5:3: labels[0].standby: "standby" is not known to the original',
      'nodepool.yaml:10:3: providers[0].steering: "steering" is not known to the original',
      'nodepool.yaml:11:3: providers[0].password: "password" is not known to the original',
      'nodepool.yaml:15:28: providers[0].pools[0].labels[0].zones: "zones" with a list is not known to the original',
      'nodepool.yaml:17:5: providers[0].pools[1]: "labels" is missing, which the original requires',
    ]);
  });

  it('is valid without them, and any other file is checked as before', async () => {
    await expect(loadWritten({ yaml: MIXED, mode: 'validate', drivers })).resolves.toBeDefined();
    const plain = 'zookeeper-timeout: 10.0\nlabels: [{name: small, min-ready: 1}]\ndiskimages: [{name: debian}]\n';
    expect((await about(plain)).filter((line) => line.includes('original'))).toEqual([]);
  });
});
