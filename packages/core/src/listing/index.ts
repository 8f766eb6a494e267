export { formatAge } from './age.js';
export { labelListing, labelsOf } from './labels.js';
export type { Column, Listing, TableSelection } from './listing.js';
export { listingToJson, listingToObjects, listingToTable, toCell } from './listing.js';
export type { NodeRow } from './nodes.js';
export { extendedNodeListing, nodeListing } from './nodes.js';
export { escapeControlCharacters, toPythonJson, toPythonRepr } from './python-text.js';
export { compareRequestIds, declineTexts, requestListing } from './requests.js';
export { renderTable } from './table.js';
