/** The methods that the driver calls. What is not here the fake refuses. */
export const METHODS: readonly string[] = [
  'Instances.Insert',
  'Instances.Delete',
  'Instances.Get',
  'Instances.List',
  'Instances.GetGuestAttributes',
  'Instances.GetSerialPortOutput',
  'Disks.List',
  'Disks.Delete',
  'ZoneOperations.Get',
  'ZoneOperations.List',
  'ZoneOperations.Wait',
  'Images.GetFromFamily',
  'MachineTypes.Get',
  'Regions.Get',
  'Projects.Get',
];
