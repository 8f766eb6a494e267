import type { OpenStackClient } from './client/client.js';
import { unlessRefused } from './client/errors.js';
import type { Named } from './named-things.js';

/** The key pairs of the user. @returns `undefined`: they cannot be listed */
export function keyPairNames(client: OpenStackClient, signal: AbortSignal): Promise<Named[] | undefined> {
  return unlessRefused(async () => (await client.compute.keyPairs(signal)).map((name) => ({ id: name, name })));
}

/** The security groups among which Nova looks: those of the project. @returns `undefined`: they cannot be listed */
export async function ownSecurityGroups(client: OpenStackClient, signal: AbortSignal): Promise<Named[] | undefined> {
  if (!client.settings.hasNetwork || !(await client.network.exists(signal))) return undefined;
  const own = await client.projectId(signal);
  return unlessRefused(async () =>
    (await client.network.securityGroups(signal)).filter(
      ({ projectId }) => own === undefined || projectId === undefined || projectId === own,
    ),
  );
}
