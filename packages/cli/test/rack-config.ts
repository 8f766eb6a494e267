/** No process listens there, so that launchers are asked in vain. */
export const DEAD_PORT = 'webapp: {port: 1, listen_address: 127.0.0.1}\n';

/** A nodepool.yaml with these labels and one provider `rack` of static nodes, each host an entry in YAML. */
export function rackYaml(labels: string[], hosts: string[]): string {
  return (
    `${DEAD_PORT}labels:\n${labels.map((name) => `  - name: ${name}\n`).join('')}` +
    'providers:\n  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes:\n' +
    hosts.map((host) => `          - ${host}\n`).join('')
  );
}

/** `small` on host1 and `big` on host2. */
export const TWO_HOSTS = rackYaml(['small', 'big'], ['{name: host1, labels: small}', '{name: host2, labels: big}']);
