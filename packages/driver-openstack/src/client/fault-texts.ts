/** What a text of a cloud says about a creation that failed. */
export type FaultMeaning = 'quota' | 'capacity' | 'not-found';

/**
 * What clouds write, in the order in which it is looked for. Quota: the project may not have more, so the request waits.
 * Capacity: the cloud has no capacity here just now. `not-found`: something that was asked for has gone meanwhile, so
 * what is known of images, flavors and networks is out of date.
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

/** Texts that mean quota with whatever status they come: services disagree about it. */
const QUOTA_UNDER_ANY_STATUS = /quota exceeded|number of ports exceeded/i;

/** Whether an answer of any status says that the quota is used up. */
export function saysQuota(text: string): boolean {
  return QUOTA_UNDER_ANY_STATUS.test(text);
}

/** What a fault or an error text means; `undefined`: a failure like any other. */
export function kindOfText(text: string): FaultMeaning | undefined {
  return TABLE.find(([pattern]) => pattern.test(text))?.[1];
}
