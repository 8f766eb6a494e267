import { describe, expect, it } from 'vitest';
import { kindOfText } from './fault-texts.js';

describe('a text of a cloud', () => {
  it.each([
    ['Quota exceeded for instances: Requested 1, but already used 100 of 100 instances', 'quota'],
    ['Quota exceeded for cores, ram: Requested 4, 8192', 'quota'],
    ['The number of instances exceeds the project quota', 'quota'],
    ['Maximum number of ports exceeded', 'quota'],
    ['The number of defined ports: 5 is over the limit: 2', 'quota'],
    ["Quota exceeded for resources: ['port'].", 'quota'],
    ['VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota.', 'quota'],
    ['Build of instance x aborted: VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded', 'quota'],
    ['No valid host was found. There are not enough hosts available.', 'capacity'],
    ['Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures', 'capacity'],
    ['Insufficient compute resources: Free memory 10.00 MB < requested 2048 MB.', 'capacity'],
    ['No more IP addresses available on network 1.', 'capacity'],
    ['Image 7 could not be found.', 'not-found'],
    ['Flavor f-9 could not be found.', 'not-found'],
    ['Build of instance x aborted: spawn-fail is set', undefined],
    ['Instance failed to spawn: libvirt error', undefined],
  ])('"%s" means %s', (text, meaning) => {
    expect(kindOfText(text)).toBe(meaning);
  });
});
