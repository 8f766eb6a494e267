import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { fillLabels, problemOfTemplate } from './dynamic-labels.js';

const request = { ...newRequest({ labels: ['a'], tenantName: 'team one' }, 0), id: '100-0000000007' as RequestId };

describe('labels with values of the request', () => {
  it('are filled, and made valid', () => {
    const labels = fillLabels({ id: '{request.id}', tenant: '{request.tenant_name}' }, request, silentLogger);

    expect(labels).toEqual({ id: '100-0000000007', tenant: expect.stringMatching(/^team-one-[0-9a-f]{8}$/) as string });
  });

  it('are left out when they cannot be filled', () => {
    expect(fillLabels({ x: '{request.requestor_data[build]}' }, request, silentLogger)).toEqual({});
  });

  it('are checked before', () => {
    expect(problemOfTemplate('{request.id}-{request.requestor_data[build]}')).toBeUndefined();
    expect(problemOfTemplate('{request.requestor_data[build].name}')).toBeUndefined();
    expect(problemOfTemplate('{request.colour}')).toContain('colour');
    expect(problemOfTemplate('{')).toBeDefined();
  });
});
