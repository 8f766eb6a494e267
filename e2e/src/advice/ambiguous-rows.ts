import type { AdviceCloud, ConfigChanges } from './advice-world.js';
import type { Row } from './row.js';

/** A name that several things of the cloud have, until the configuration has the id. */
const ambiguous = (
  thing: string,
  listOf: (state: AdviceCloud['state']) => Record<string, unknown>[],
  name: string,
  changesFor: (nameOrId: string) => ConfigChanges,
): Row => {
  const twinId = `twin-of-${name}`;
  return {
    ...{ type: 'LabelUnusable', reason: `${thing}Ambiguous`, advice: /^use the id of the .* instead of its name$/ },
    begin(world) {
      const list = listOf(world.cloud.state);
      list.push({ ...list.find((each) => each['name'] === name), id: twinId });
      return world.configure(changesFor(name));
    },
    follow(world) {
      const found = listOf(world.cloud.state).find((each) => each['name'] === name);
      return world.configure(changesFor(String(found?.['id'])));
    },
    end(world) {
      const list = listOf(world.cloud.state);
      const twin = list.findIndex(({ id }) => id === twinId);
      if (twin >= 0) list.splice(twin, 1);
      return world.configure();
    },
  };
};

/** Conditions about names that are not unique. */
export const AMBIGUOUS_ROWS: readonly Row[] = [
  ambiguous(
    'Network',
    ({ networks }) => networks,
    'private',
    (network) => ({ pool: { networks: [network] } }),
  ),
  ambiguous(
    'SecurityGroup',
    ({ securityGroups }) => securityGroups,
    'ssh',
    (group) => ({ pool: { 'security-groups': [group] } }),
  ),
  ambiguous(
    'ServerGroup',
    ({ serverGroups }) => serverGroups,
    'spread',
    (group) => ({ label: { 'server-group': group } }),
  ),
];
