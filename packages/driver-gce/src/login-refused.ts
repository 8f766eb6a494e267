import type { FoundCondition } from '@nodepool/core';
import type { GceProviderConfig } from './config.js';
import type { RefusedLogin } from './http.js';

/** Conditions of missing or refused credentials. */
export function loginConditions(config: GceProviderConfig, refusal: RefusedLogin | undefined): FoundCondition[] {
  if (!refusal) return [];
  const { name, project, credentials } = config;
  const where = credentials === undefined ? 'the Application Default Credentials' : `the key file "${credentials}"`;
  return [
    {
      ...{ kind: 'provider', name, type: 'LoginRefused', severity: 'error', ...refusal },
      nextStep: `correct ${where} of the launcher, or enable their account in project "${project}"`,
      evidence: { project },
    },
  ];
}
