import { describe, expect, it } from 'vitest';
import { labelOf } from '../test/labels.js';
import { podBody } from './pod-body.js';

const meta = { labels: { a: 'b' }, annotations: { own: '1' } };

describe('the body of a pod', () => {
  it('runs a shell that sleeps', () => {
    expect(podBody('small', labelOf({ image: 'debian' }), meta)).toEqual({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: {
        ...{ name: 'small', labels: meta.labels },
        annotations: { 'kubectl.kubernetes.io/default-container': 'small', own: '1' },
      },
      spec: {
        ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 1 },
        containers: [
          {
            ...{ name: 'small', image: 'debian', imagePullPolicy: 'IfNotPresent', env: [] },
            ...{ command: ['/bin/sh', '-c'], args: ['while true; do sleep 30; done;'] },
          },
        ],
      },
    });
  });

  it('names the container that kubectl enters, unless the label names another', () => {
    const annotationOf = (label: object) =>
      (podBody('a', labelOf({ ...label }), meta) as { metadata: { annotations: Record<string, string> } }).metadata
        .annotations['kubectl.kubernetes.io/default-container'];

    expect(annotationOf({ image: 'x' })).toBe('a');
    expect(annotationOf({ spec: { containers: [{ name: 'main' }, { name: 'other' }] } })).toBe('main');
    expect(annotationOf({ spec: {} })).toBeUndefined();
    expect(annotationOf({ image: 'x', annotations: { 'kubectl.kubernetes.io/default-container': 'own' } })).toBe('own');
  });

  it('has requests, and limits that are those requests unless given', () => {
    const label = labelOf({
      ...{ image: 'x', cpu: 2, memory: 512, storage: 100, 'cpu-limit': 4, gpu: 0.5, 'gpu-resource': 'nvidia.com/gpu' },
    });

    expect(podBody('a', label, meta)).toMatchObject({
      spec: {
        containers: [
          {
            resources: {
              requests: { cpu: '2', memory: '512Mi', 'ephemeral-storage': '100M', 'nvidia.com/gpu': '500m' },
              limits: { cpu: '4', memory: '512Mi', 'ephemeral-storage': '100M', 'nvidia.com/gpu': '500m' },
            },
          },
        ],
      },
    });
  });

  it('has all other parts that a label may set', () => {
    const label = labelOf({
      ...{ image: 'x', 'image-pull': 'Always', 'image-pull-secrets': [{ name: 'registry' }], privileged: true },
      ...{ env: [{ name: 'A', value: '1' }], 'node-selector': { disk: 'ssd' }, 'scheduler-name': 'other' },
      ...{ volumes: [{ name: 'v', emptyDir: {} }], 'volume-mounts': [{ name: 'v', mountPath: '/v' }] },
      annotations: { note: 'n', own: 'lost' },
    });

    expect(podBody('a', label, meta)).toMatchObject({
      metadata: { annotations: { note: 'n', own: '1' } },
      spec: {
        ...{ imagePullSecrets: [{ name: 'registry' }], nodeSelector: { disk: 'ssd' }, schedulerName: 'other' },
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          {
            ...{ imagePullPolicy: 'Always', env: [{ name: 'A', value: '1' }], securityContext: { privileged: true } },
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
          },
        ],
      },
    });
  });

  it('is the specification of the label, if it has one', () => {
    const spec = { containers: [{ name: 'c', image: 'x' }], hostNetwork: true };

    expect(podBody('a', labelOf({ spec }), meta)).toMatchObject({ metadata: { name: 'a' }, spec });
  });
});
