/** What configurations call the driver, and `nodepool.driver` in `package.json` too. Written nowhere else. */
export const DRIVER_NAME = 'template';
