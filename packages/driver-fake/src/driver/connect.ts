import type { AdapterContext } from '@nodepool/core';
import { addressOf, HttpClient, spawnServer, type CloudClient } from '../cloud/index.js';
import type { FakeProviderConfig } from './config.js';

/** A client of the server of a cloud. Starts the server if none answers. */
export function connectToServer(
  config: Pick<FakeProviderConfig, 'cloud' | 'cloudDir' | 'listen'>,
  { clock, logger }: Pick<AdapterContext, 'clock' | 'logger'>,
): CloudClient {
  const { cloud, cloudDir: dir, listen } = config;
  let isStarting = () => false;
  return new HttpClient({
    address: addressOf(dir, listen),
    clock,
    revive() {
      if (isStarting()) return;
      logger.info('Starting fake cloud', { cloud, dir });
      isStarting = spawnServer(dir, listen);
    },
    onLost: (error) => logger.warn('Lost connection to the fake cloud', { cloud, error }),
  });
}
