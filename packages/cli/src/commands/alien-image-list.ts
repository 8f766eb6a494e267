import { BUILD_ID_TAG, PROVIDER_TAG } from '@nodepool/core';
import type { Config, Provider, ProviderConfig, ProviderImage } from '@nodepool/core';
import { createDriverRegistry } from '@nodepool/core/config';
import { alienImageListing, uploadsOf } from '@nodepool/core/service';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { driverPlaces, loadFullConfig } from '../connection/config.js';
import { makeProvider } from '../connection/make-provider.js';
import { withImages } from '../images/with-images.js';
import { Interrupts } from '../terminal/interrupts.js';
import { printListing } from '../terminal/output.js';

/** `nodepool alien-image-list`. */
export const command = defineCommand({
  positionals: { provider: { type: 'string', describe: 'name of the provider; default: all of them' } },
  reads: true,
  parse: (values) => ({ provider: text(values, 'provider') }),
  run: listAlienImages,
});

/** `nodepool alien-image-list`: images in the clouds with the tag of a build that are not ready uploads. */
async function listAlienImages(context: CliContext, args: { provider: string | undefined }): Promise<void> {
  const registry = createDriverRegistry(driverPlaces(context.options.configFile));
  const config = await loadFullConfig(context, registry);
  const chosen = choose(context, config, args.provider);
  const interrupts = new Interrupts();
  try {
    const rows = await withImages(context, async ({ zk, images }) => {
      const ready = new Set(
        uploadsOf(images)
          .filter(({ state }) => state === 'ready')
          .map(({ provider, externalId }) => `${provider} ${externalId}`),
      );
      const make = (provider: ProviderConfig) => makeProvider(context, { zk, config, registry }, provider);
      const found = await Promise.all(
        chosen.map(async (provider) => ({
          provider: provider.name,
          images: await imagesIn(context, await make(provider), provider, interrupts.signal),
        })),
      );
      const seen = new Set<string>();
      return found.flatMap(({ provider, images: list }) =>
        list
          .filter(({ metadata }) => !isOfSibling(metadata, provider, config))
          .filter(({ externalId }) => !ready.has(`${provider} ${externalId}`))
          .filter((image) => !isSeen(seen, image))
          .map(({ name, externalId }) => ({ provider, name, externalId })),
      );
    });
    printListing(context, alienImageListing, rows);
  } finally {
    interrupts.dispose();
  }
}

/** Providers that share a project list the same images, which have the tags of one upload. */
function isSeen(seen: Set<string>, { externalId, metadata }: ProviderImage): boolean {
  const key = JSON.stringify([externalId, Object.entries(metadata).sort()]);
  if (metadata[PROVIDER_TAG] === undefined) return false;
  return seen.size === seen.add(key).size;
}

/** Providers may share a project of a cloud: an image is listed with the configured provider that its tag names. */
function isOfSibling(metadata: ProviderImage['metadata'], provider: string, { providers }: Config): boolean {
  const owner = metadata[PROVIDER_TAG];
  return owner !== undefined && owner !== provider && providers.has(owner);
}

/** Providers that manage images, or the one that was named; none when there is no such provider, as in the original. */
function choose({ options, logger }: CliContext, config: Config, name: string | undefined): ProviderConfig[] {
  if (name === undefined) return [...config.providers.values()].filter(({ images }) => images !== undefined);
  const provider = config.providers.get(name);
  if (provider) return [provider];
  const problem = `${config.file} has no provider ${name}, it has ${[...config.providers.keys()].join(', ')}`;
  if (options.strict) throw new CliError(problem);
  logger.warn(problem);
  return [];
}

/** Logs a warning for a cloud that cannot be listed; the others are still listed. */
async function imagesIn(
  context: CliContext,
  provider: Provider,
  { name }: ProviderConfig,
  signal: AbortSignal,
): Promise<readonly ProviderImage[]> {
  try {
    if (!provider.listImages) throw new CliError('its driver cannot list images');
    await provider.startImages?.(signal);
    const images = await provider.listImages(signal, { all: true });
    return images.filter(({ metadata }) => metadata[BUILD_ID_TAG] !== undefined);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    context.logger.warn(`Images of provider ${name} cannot be listed: ${describeError(error)}`);
    return [];
  } finally {
    provider.stop();
    await provider.join();
  }
}
