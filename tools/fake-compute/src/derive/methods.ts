import type { JsonObject } from '@nodepool/zk-protocol';

/**
 * Parameters of the REST API that the package leaves out.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/aggregatedList#query-parameters
 */
export const FURTHER_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  'Instances.AggregatedList': { returnPartialSuccess: { type: 'boolean' } },
  'Disks.AggregatedList': { returnPartialSuccess: { type: 'boolean' } },
};

/** Methods that the driver calls. The fake rejects all others. */
export const METHODS: readonly string[] = [
  'Instances.Insert',
  'Instances.Delete',
  'Instances.Stop',
  'Instances.Start',
  'Instances.Get',
  'Instances.List',
  'Instances.AggregatedList',
  'Instances.SetLabels',
  'Instances.GetGuestAttributes',
  'Instances.GetSerialPortOutput',
  'Disks.AggregatedList',
  'Disks.Get',
  'Disks.SetLabels',
  'Disks.Delete',
  'ZoneOperations.Get',
  'ZoneOperations.List',
  'ZoneOperations.Wait',
  'Images.GetFromFamily',
  'Images.List',
  'MachineTypes.Get',
  'MachineTypes.List',
  'Regions.Get',
  'Regions.List',
  'Projects.Get',
];
