import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { tokenRequest } from '../keystone.js';
import { readCloud } from './read-cloud.js';
import type { CloudFiles } from './types.js';

function files(entry: JsonObject, more: Partial<CloudFiles> = {}): CloudFiles {
  return { clouds: { sky: entry }, publicClouds: {}, top: {}, files: ['clouds.yaml'], ...more };
}

describe('the request for a token', () => {
  const request = (entry: JsonObject): unknown => tokenRequest(readCloud(files(entry), 'sky').settings.auth)['auth'];

  it.each([
    [{ project_name: 'ci', project_domain_name: 'D' }, { project: { name: 'ci', domain: { name: 'D' } } }],
    [{ tenant_name: 'ci', project_domain_id: 'd' }, { project: { name: 'ci', domain: { id: 'd' } } }],
    [{ tenant_id: '7' }, { project: { id: '7' } }],
    [{ project_name: 'ci' }, { project: { name: 'ci', domain: { id: 'default' } } }],
    [{ project_name: 'ci', default_domain: 'D' }, { project: { name: 'ci', domain: { name: 'D' } } }],
    [{ domain_name: 'D' }, { domain: { name: 'D' } }],
    [{ system_scope: 'all' }, { system: { all: true } }],
    [{ trust_id: 't' }, { 'OS-TRUST:trust': { id: 't' } }],
  ])('knows the scope %o', (scope, expected) => {
    const auth = { auth_url: 'https://k', username: 'u', password: 'p', ...scope };

    expect(request({ auth })).toMatchObject({ scope: expected });
  });

  it('takes users by id or by name and domain, also beside "auth"', () => {
    const byId = request({ auth: { auth_url: 'https://k', user_id: '1', password: 'p' } });
    const byName = request({ auth: { auth_url: 'https://k' }, username: 'u', password: 'p', user_domain_name: 'D' });

    expect(byId).toMatchObject({ identity: { password: { user: { id: '1', password: 'p' } } } });
    expect(byName).toMatchObject({ identity: { password: { user: { name: 'u', domain: { name: 'D' } } } } });
  });

  it('takes tokens and application credentials, these without a scope', () => {
    const token = request({ auth_type: 'token', auth: { auth_url: 'https://k', token: 't', project_id: '7' } });
    const secret = { application_credential_id: 'a', application_credential_secret: 's', project_id: '7' };
    const credential = request({ auth_type: 'v3applicationcredential', auth: { auth_url: 'https://k', ...secret } });

    expect(token).toEqual({ identity: { methods: ['token'], token: { id: 't' } }, scope: { project: { id: '7' } } });
    expect(credential).toEqual({
      identity: { methods: ['application_credential'], application_credential: { id: 'a', secret: 's' } },
    });
  });
});
