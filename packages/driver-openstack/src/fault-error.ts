import { CapacityError, LaunchError, QuotaError } from '@nodepool/core';
import { kindOfText } from './client/fault-texts.js';

/** The error for a server in status `ERROR`. @param fault - the reason of the cloud */
export function errorOfFault(name: string, externalId: string, fault: string | undefined): Error {
  const message = `server "${name}" (${externalId}) is in status ERROR: ${fault ?? 'the cloud gives no reason'}`;
  const kind = kindOfText(fault ?? '');
  if (kind === 'quota') return new QuotaError(message);
  return kind === 'capacity' ? new CapacityError(message) : new LaunchError('status', message);
}
