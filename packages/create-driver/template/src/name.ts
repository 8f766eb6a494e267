/** Driver name in configurations. Must equal `nodepool.driver` in `package.json`. */
export const DRIVER_NAME = 'template';
