/** Meaning of the fault text of a failed creation. */
export type FaultMeaning = 'quota' | 'capacity' | 'not-found';

/**
 * Fault texts of clouds, in matching order. `quota`: the quota of the project is exhausted, so the request waits.
 * `capacity`: the cloud has no capacity now. `not-found`: a requested resource no longer exists, so cached images, flavors
 * and networks are outdated.
 */
const TABLE: readonly (readonly [RegExp, FaultMeaning])[] = [
  // Nova: instances, cores, ram; also when a race for the last ones is lost after the order was taken
  [/quota exceeded|exceed\w*\b.*\bquota|quota.*\bexceed|over ?quota|quotaset/i, 'quota'],
  // Nova, about Neutron's ports
  [/maximum number of ports exceeded|number of ports exceeded|portlimitexceeded/i, 'quota'],
  [/number of defined \w+: \d+ is over the limit/i, 'quota'],
  // Nova and Cinder, about volumes and gigabytes
  [
    /volumelimitexceeded|maximum number of volumes|volumesizeexceeds|exceeds allowed .*(gigabytes|volumes) quota/i,
    'quota',
  ],
  [/maximum number of (fixed|floating) ips|instance limit exceeded/i, 'quota'],
  [/no valid host|novalidhost/i, 'capacity'],
  [/exceeded maximum number of retries|exceeded max scheduling attempts|exhausted all hosts/i, 'capacity'],
  [/insufficient (compute )?resources|not enough (memory|resources|disk)|insufficient free/i, 'capacity'],
  [/no more ip ?addresses|ipaddressgenerationfailure|no more free ips|externalipaddressexhausted/i, 'capacity'],
  [/no fixed ip addresses available|network .* is out of/i, 'capacity'],
  [/no weighed backends|no valid backend|block device mapping .* insufficient/i, 'capacity'],
  [
    /(image|flavor|network|security group|keypair|key_name)\b.*(could not be found|not found|no longer exists|is not active)/i,
    'not-found',
  ],
  [/invalid (imageref|flavorref|image|flavor|key_name)/i, 'not-found'],
];

/** Texts that mean quota with any status, since services use different ones. */
const QUOTA_UNDER_ANY_STATUS = /quota exceeded|number of ports exceeded/i;

/** Whether an answer of any status means an exhausted quota. */
export function saysQuota(text: string): boolean {
  return QUOTA_UNDER_ANY_STATUS.test(text);
}

/** The meaning of a fault or error text; `undefined`: none in particular. */
export function kindOfText(text: string): FaultMeaning | undefined {
  return TABLE.find(([pattern]) => pattern.test(text))?.[1];
}
