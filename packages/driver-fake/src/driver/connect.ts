import type { AdapterContext } from '@nodepool/core';
import { addressOf, HttpClient, spawnServer, type CloudClient } from '../cloud/index.js';
import type { FakeProviderConfig } from './config.js';

/** A client of the cloud's own server, which is started when no server answers. */
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
      logger.info('Starting the fake cloud', { cloud, dir });
      isStarting = spawnServer(dir, listen);
    },
    onLost: (error) => logger.warn('The connection to the fake cloud is lost', { cloud, error }),
  });
}
