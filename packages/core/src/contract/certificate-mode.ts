import { CERTIFICATE_MODES, type CertificateMode } from '@nodepool/zk-protocol';
import type { ProviderConfig } from './provider-config.js';

/** Whose certificates the machines of a provider trust, by `lease-certificates` of its entry; `undefined`: none. */
export function certificateModeOf({ entry }: Pick<ProviderConfig, 'entry'>): CertificateMode | undefined {
  return CERTIFICATE_MODES.find((mode) => mode === entry['lease-certificates']);
}
