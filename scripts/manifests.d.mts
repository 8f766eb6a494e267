/** `https://host/owner/project` of the repository. */
export function webAddress(): string;
/** Files of published packages that are not as they should be. */
export function outdatedFiles(): string[];
