import type { UploadRecord } from '@nodepool/zk-protocol';
import { ProviderUnavailableError, type Provider } from '@nodepool/core';
import type { ImageSource } from '@nodepool/core/service';
import type { Surroundings } from '../context/surroundings.js';
import type { TrialTarget } from './find-target.js';

/** Time limit for a provider to become ready to launch. */
const START_LIMIT_MS = 120_000;

/**
 * Runs `use` with a separate provider object that knows this upload as its only image.
 * @throws {ProviderUnavailableError} if the provider does not become ready to launch
 */
export async function withTrialProvider<T>(
  { providers, clock, logger }: Pick<Surroundings, 'providers' | 'clock' | 'logger'>,
  upload: UploadRecord,
  target: TrialTarget,
  signal: AbortSignal,
  use: (provider: Provider) => Promise<T>,
): Promise<T> {
  let wake = (): void => undefined;
  const name = upload.provider;
  const provider = await providers.makeForNodes(name, { images: onlyThis(upload), capacityChanged: () => wake() });
  if (!provider) throw new ProviderUnavailableError(`provider "${name}" has left the configuration`);
  const late = new AbortController();
  const cancel = clock.setTimer(START_LIMIT_MS, () => late.abort(notReady(name, target)));
  try {
    const either = AbortSignal.any([signal, late.signal]);
    await provider.start(either);
    await untilTrue(
      () => canLaunch(provider, target),
      (look) => (wake = look),
      either,
    );
    cancel();
    return await use(provider);
  } finally {
    cancel();
    provider.stop();
    await provider.join().catch((error: unknown) => {
      logger.warn('Failed to stop provider cleanly', { provider: name, error });
    });
  }
}

const notReady = (provider: string, { pool, label }: TrialTarget): Error =>
  new ProviderUnavailableError(
    `provider "${provider}" is not ready to launch label "${label.name}" in pool "${pool.name}" after ${START_LIMIT_MS / 1_000} s`,
  );

function onlyThis(upload: UploadRecord): ImageSource {
  return {
    ready: true,
    newestUpload: (image, provider) => (image === upload.image && provider === upload.provider ? upload : undefined),
    // This provider knows only one upload and must not classify others as leaked.
    hasUpload: () => true,
    hasImage: () => true,
  };
}

function canLaunch(provider: Provider, { pool, label }: TrialTarget): boolean {
  const isQuotaKnown = provider.quota === undefined || provider.quota.estimatedNodepoolQuota() !== undefined;
  return isQuotaKnown && provider.labelReady(pool.name, label.name);
}

function untilTrue(isTrue: () => boolean, onChange: (look: () => void) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (isTrue()) resolve();
    };
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    onChange(look);
    if (signal.aborted) reject(signal.reason as Error);
    look();
  });
}
