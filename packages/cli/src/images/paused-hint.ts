/** Said when a request waits for a person. */
export const pausedHint = (image: string): string =>
  `nodepool: ${image} is paused, its build begins after nodepool image-unpause ${image}`;
